# Ours as filled marks and lines, the paper's as open marks and dashed lines in the same colours. Both
# axes are multiples of what they are at L_valid = L_train and logarithmic, so that curves of any scale
# may be compared.
y_low = 0.8
y_top = 4
is_paper(i) = strstrt(CURVE_TITLE[i], '(paper)') > 0
color(i) = COLOR[CURVE_STYLE[i]]
dash(i) = is_paper(i) ? 2 : 1
mark(i) = is_paper(i) ? OPEN[CURVE_STYLE[i]] : FILLED[CURVE_STYLE[i]]
entry(i) = is_paper(i) ? 'paper (dashed)' : CURVE_TITLE[i]
key_color(i) = is_paper(i) ? 0x666666 : color(i)
key_mark(i) = is_paper(i) ? -1 : mark(i)

eval LOG_X
eval LOG_Y
set yrange [y_low:y_top]
set ytics (0.8, 0.9, 1, 1.2, 1.5, 2, 3, 4)
set xlabel 'L_{valid} / L_{train}'
set ylabel 'perplexity, times that at L_{train}'
set arrow 2 from graph 0, first 1 to graph 1, first 1 nohead lc rgb '#999999'
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; set xrange [0.95:1.05 * PANEL_X_MAX[p]]; eval 'plot '.LINES.', '.OFF }
eval END
