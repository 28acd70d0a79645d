# Perplexity over the window on attention, relative to a window of L_train; both axes are logarithmic. The
# lines cross where a window is as long as the inputs of training.
y_low = 0.98 * (Y_MIN < 1 ? Y_MIN : 1)
y_top = Y_MAX > 1.3 ? 1.3 : 1.02 * Y_MAX
entry(i) = CURVE_TITLE[i]

eval LOG_X
eval LOG_Y
set xrange [0.95 * X_MIN:1.05 * X_MAX]
set yrange [y_low:y_top]
set xtics ('1/8' 0.125, '1/4' 0.25, '1/2' 0.5, 1, 1.5, 2, 3, 6)
set ytics (0.8, 0.85, 0.9, 0.95, 1, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3)
set xlabel 'window on attention / L_{train}'
set ylabel 'perplexity, times that with a window of L_{train}'
set arrow 2 from first 1, graph 0 to first 1, graph 1 nohead lc rgb '#999999'
set arrow 3 from graph 0, first 1 to graph 1, first 1 nohead lc rgb '#999999'
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
