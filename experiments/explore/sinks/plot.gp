# A panel for each text, a curve for each model; x numbers the heads of all layers. The line is the
# weight at which a head counts as a sink.
set xrange [0.5:X_MAX + 0.5]
y_low = 0.01
y_top = Y_MAX > 0.35 ? 1.2 * Y_MAX : 0.42
eval LOG_Y
set yrange [y_low:y_top]
set xtics 1
set ytics (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1)
set xlabel 'head, layer by layer'
set ylabel 'mean weight of the first key'
set arrow 2 from graph 0, first 0.3 to graph 1, first 0.3 nohead lc rgb '#999999'
entry(i) = CURVE_TITLE[i]
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
