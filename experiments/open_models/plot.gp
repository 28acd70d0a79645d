# Bits per byte of each model over the length of the input, as a multiple of its training length.
y_low = 0.97 * Y_MIN
y_top = Y_MAX > 3 * Y_MIN ? 3 * Y_MIN : 1.03 * Y_MAX
entry(i) = before(CURVE_TITLE[i], ' (no result)')

eval LOG_X
set yrange [y_low:y_top]
set xtics (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4)
set xlabel 'L_{valid} / L_{train}'
set ylabel 'bits per byte'
set arrow 2 from first 1, graph 0 to first 1, graph 1 nohead lc rgb '#999999'
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; set xrange [0.95 * X_MIN:1.05 * X_MAX]; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
