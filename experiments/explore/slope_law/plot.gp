# Perplexity over the factor, divided by the minimum of the parabola, a curve for each length of training,
# light to dark; in the last panel the best factor over that length, with the two laws through its
# geometric mean: one penalty at L (a line of slope -1) and one penalty per token (a level line).
is_best(p) = PANEL_TITLE[p] eq 'best factor'
of_best(i) = strstrt(CURVE_TITLE[i], 'best=') > 0
PER = PANEL_LAST[1]
best_name(i) = CURVE_TITLE[i][strstrt(CURVE_TITLE[i], '=') + 1:*]
FIRST_BEST = CURVES + 1
do for [i = CURVES:1:-1] { if (of_best(i)) { FIRST_BEST = i } }
color(i) = of_best(i) ? COLOR[word('4 13 1 2 3 12 9 7', 1 + (i - FIRST_BEST) % 8) + 0] : tint(COLOR[CURVE_STYLE[i]], (1.0 + (i - 1) % PER) / PER)
dash(i) = 1
mark(i) = of_best(i) ? word('7 5 9 13 11 4 6 8', 1 + (i - FIRST_BEST) % 8) + 0 : word('7 9 13 5 11', 1 + (i - 1) % PER % 5) + 0
entry(i) = of_best(i) ? 'best: '.best_name(i) : 'L_{train} = '.tokens(i)
BEST_LOW = 1e9; BEST_HIGH = 0; L_LOW = 1e9; L_HIGH = 0
do for [i = CURVES:FIRST_BEST:-1] {
    stats DATA index (i - 1) using (log($1)):(log($2)) nooutput prefix 'S'
    BEST_LOW = exp(S_min_y) < BEST_LOW ? exp(S_min_y) : BEST_LOW
    BEST_HIGH = exp(S_max_y) > BEST_HIGH ? exp(S_max_y) : BEST_HIGH
    L_LOW = exp(S_min_x) < L_LOW ? exp(S_min_x) : L_LOW
    L_HIGH = exp(S_max_x) > L_HIGH ? exp(S_max_x) : L_HIGH
}
level(x) = exp(S_mean_y)
falling(x) = exp(S_mean_y - (log(x) - S_mean_x))

eval LOG_X
y_low = 0.995
y_top = 1.06
eval BEGIN
do for [p = 1:PANELS] {
    eval PANEL
    unset label 4; unset arrow 2
    if (is_best(p)) {
        set logscale y 2
        set xrange [0.8 * L_LOW:1.25 * L_HIGH]
        set yrange [least(0.7 * BEST_LOW, falling(L_HIGH)):1.4 * (BEST_HIGH > falling(L_LOW) ? BEST_HIGH : falling(L_LOW))]
        set xtics (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
        set ytics ('1/64' 1/64., '1/16' 1/16., '1/8' 0.125, '1/4' 0.25, '1/2' 0.5, 1, 2, 4, 8, 16, 32, 64)
        set xlabel 'L_{train}'
        set ylabel 'best factor on the paper''s slopes'
        set label 4 'one penalty at L' at L_LOW, falling(L_LOW) left offset 1,0.6 font ',9' textcolor rgb '#555555'
        eval 'plot falling(x) with lines dashtype 2 linecolor rgb "#777777" notitle, level(x) with lines dashtype 3 linecolor rgb "#777777" notitle, '.BANDS.', '.LINES
    } else {
        unset logscale y
        set xrange [1 / 19.0:76]
        set yrange [y_low:y_top]
        set ytics autofreq
        set xtics ('1/64' 1/64., '1/16' 1/16., '1/4' 0.25, '1' 1, '4' 4, '16' 16, '64' 64)
        set xlabel 'slopes, times the paper''s'
        if ((p - 1) % COLS == 0) { set ylabel 'perplexity, times the minimum of the parabola' }
        set arrow 2 from first 1, graph 0 to first 1, graph 1 nohead dt 2 lc rgb '#777777'
        set label 4 'the paper''s slopes' at first 1, graph 0.97 left offset 0.5,0 font ',9' textcolor rgb '#555555'
        eval 'plot '.BANDS.', '.LINES.', '.OFF
    }
}
eval END
