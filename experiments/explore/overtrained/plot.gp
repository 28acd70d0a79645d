# One panel for each multiple of L, one curve for each method and its slopes. Below the line a model is
# better on the longer input than on that of training.
y_low = 0.98 * Y_MIN
y_top = Y_MAX > 3 ? 3 : 1.03 * Y_MAX
entry(i) = CURVE_TITLE[i]
eval LOG_X
eval LOG_Y
eval AT_DATA
set xrange [0.9 * X_MIN:1.1 * X_MAX]
set yrange [y_low:y_top]
set ytics (0.8, 0.85, 0.9, 0.95, 1, 1.1, 1.2, 1.5, 2, 3)
set xlabel X_LABEL
set ylabel Y_LABEL
set arrow 2 from graph 0, first 1 to graph 1, first 1 nohead lc rgb '#999999'
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
