# Perplexity over the length of the input, relative to L_train; both axes are logarithmic.
y_low = 0.98 * (Y_MIN < 1 ? Y_MIN : 1)
y_top = Y_MAX > 3 ? 3 : 1.02 * Y_MAX
entry(i) = CURVE_TITLE[i]

eval LOG_X
eval LOG_Y
set xrange [0.95:1.05 * X_MAX]
set yrange [y_low:y_top]
set xtics (1, 1.5, 2, 3, 4, 6)
set ytics (0.8, 0.9, 1, 1.1, 1.2, 1.5, 2, 2.5, 3)
set xlabel 'input / L_{train}'
set ylabel 'perplexity, times that at L_{train}'
set arrow 3 from graph 0, first 1 to graph 1, first 1 nohead lc rgb '#999999'
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
