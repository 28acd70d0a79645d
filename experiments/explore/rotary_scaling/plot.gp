# Perplexity over the length of the input, both as multiples of what they are at L_valid = L_train.
y_low = 0.97 * (Y_MIN < 1 ? Y_MIN : 1)
y_top = Y_MAX > 3 ? 3 : 1.05 * Y_MAX
entry(i) = before(CURVE_TITLE[i], ' (no result)')
method(i) = before(CURVE_TITLE[i], ' scaling=')
# Rotary models of 2 heads are a method of their own to the eye, with the style of no method.
two(i) = strstrt(CURVE_TITLE[i], '2 heads') > 0
color(i) = two(i) ? COLOR[5] : COLOR[CURVE_STYLE[i]]
mark(i) = two(i) ? FILLED[5] : FILLED[CURVE_STYLE[i]]

eval LOG_X
eval LOG_Y
set yrange [y_low:y_top]
set xtics (1, 1.5, 2, 3, 4, 6)
set ytics (0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.2, 1.35, 1.5, 1.75, 2, 2.5, 3)
if (NARROW) { set ytics (0.8, 0.9, 1, 1.2, 1.5, 2, 2.5, 3) }
set xlabel 'L_{valid} / L_{train}'
set ylabel 'perplexity, times that at L_{valid} = L_{train}'
set arrow 2 from graph 0, first 1 to graph 1, first 1 nohead lc rgb '#999999'
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; set xrange [0.97:1.05 * PANEL_X_MAX[p]]; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
