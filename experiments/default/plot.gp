# The figure of a folder without a table.txt and a plot.gp.
eval ONE_METHOD
drawn(i) = CURVE_SAME[i] == 0
entry(i) = drawn(i) ? CURVE_TITLE[i].CURVE_ALSO[i] : ''
BAND = CURVES > 6 ? 1.2 / CURVES : 0.2
if (PANELS == 1) { PANEL_TITLE[1] = '' }
y_room = 0.08 * (Y_MAX - Y_MIN) + 0.003 * abs(Y_MIN)
y_low = Y_MIN - y_room
y_top = Y_MAX > 2.5 * Y_MIN ? 2.5 * Y_MIN : Y_MAX + y_room
x_room = X_MAX > X_MIN ? 0.04 * (X_MAX - X_MIN) : 0.1 * abs(X_MAX) + 0.1
if (X_BASE > 0) { eval LOG_X; set xrange [0.9 * X_MIN:1.1 * X_MAX] } \
else { set xrange [X_MIN - x_room:X_MAX + x_room] }
set yrange [y_low:y_top]
eval AT_DATA
set xlabel X_LABEL
set ylabel Y_LABEL
eval FLOOR_LINE
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
