# The ratio at each length, over the number of parameters.
y_low = 0.97 * Y_MIN
y_top = 1.03 * Y_MAX > 1.02 ? 1.03 * Y_MAX : 1.02
entry(i) = CURVE_TITLE[i]
eval LOG_X
eval AT_DATA
set xrange [0.9 * X_MIN:1.1 * X_MAX]
set yrange [y_low:y_top]
set xlabel X_LABEL
set ylabel Y_LABEL
set arrow 2 from graph 0, first 1 to graph 1, first 1 nohead lc rgb '#999999'
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
