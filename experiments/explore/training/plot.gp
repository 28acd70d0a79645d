# Perplexities, if they are shown, and q over updates. Below the line of 1 the first model is better; the
# diamonds on it are where q of each seed becomes 1, the dashed line is the paper's q.
is_paper(i) = strstrt(CURVE_TITLE[i], 'the paper') == 1
is_place(i) = strstrt(CURVE_TITLE[i], 'where it is 1') == 1
is_ratio(p) = strstrt(PANEL_TITLE[p], 'ratio') == 1
last_word(s) = word(s, words(s))
pair(i) = before(CURVE_TITLE[i], ' over ')
rival(i) = last_word(pair(i)) eq last_word(CURVE_TITLE[i]) # both trained on one length
drawn(i) = !is_paper(i)
lined(i) = !is_place(i)
color(i) = is_paper(i) ? 0x777777 : is_place(i) ? 0x000000 : COLOR[CURVE_STYLE[i]]
dash(i) = is_paper(i) ? 2 : strstrt(CURVE_TITLE[i], ' over ') && rival(i) ? 5 : 1
mark(i) = is_paper(i) ? 0 : is_place(i) ? 13 : FILLED[CURVE_STYLE[i]]
entry(i) = CURVE_TITLE[i]
PAPERS = CURVES_OF_PANEL.'using 1:(is_paper(i) ? $2 : NaN) with lines linewidth 1.5 dashtype 2 linecolor rgb color(i) notitle'

do for [p = 1:PANELS] {
    LOWEST = 1e9; HIGHEST = -1e9
    do for [i = PANEL_FIRST[p]:PANEL_LAST[p]] {
        stats DATA index (i - 1) using ($2 - $3):($2 + $3) nooutput prefix 'S'
        LOWEST = S_min_x < LOWEST ? S_min_x : LOWEST; HIGHEST = S_max_y > HIGHEST ? S_max_y : HIGHEST
    }
    eval sprintf('LOW_%d = %.10g; HIGH_%d = %.10g', p, LOWEST, p, HIGHEST)
}

eval LOG_X
X_FIRST = X_MIN
X_LAST = X_MAX
ticks = ''
do for [k = 0:12] { if (X_FIRST * 2**k <= 1.01 * X_LAST) { ticks = ticks.(k ? ',' : '').sprintf('%g', X_FIRST * 2**k) } }
eval 'set xtics ('.ticks.')'
set xrange [0.87 * X_FIRST:1.15 * X_LAST]
set xlabel 'updates of training'
eval BEGIN
do for [p = 1:PANELS] {
    eval PANEL
    y_low = value(sprintf('LOW_%d', p)); y_top = value(sprintf('HIGH_%d', p))
    y_pad = 0.06 * (y_top - y_low); y_low = y_low - y_pad; y_top = (is_ratio(p) && y_top < 1.02 ? 1.02 : y_top) + y_pad
    set yrange [y_low:y_top]
    unset label 4; unset arrow 2
    if (is_ratio(p)) {
        if ((p - 1) % COLS == 0 || !is_ratio(p - 1 > 0 ? p - 1 : 1)) { set ylabel 'first model''s perplexity over the second''s' }
        set arrow 2 from graph 0, first 1 to graph 1, first 1 nohead lw 1.5 lc rgb '#222222'
        if (p == PANELS) { set label 4 'above 1 the second is better' at graph 0.02, first 1 left offset 0,0.6 font ',9' textcolor rgb '#555555' }
    } else {
        set ylabel 'perplexity (lower is better)'
    }
    eval 'plot '.BANDS.', '.PAPERS.', '.LINES
}
eval END
