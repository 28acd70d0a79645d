# Perplexity over the tokens in a window, a panel for windows that do not overlap, with the predicted
# values as open marks, and one for windows of stride 1, from which they are predicted. Both axes are
# logarithmic. Above 2.2 times the lowest perplexity only the place is shown where a curve leaves.
y_low = 0.96 * Y_MIN
y_top = Y_MAX > 2.2 * Y_MIN ? 2.2 * Y_MIN : 1.03 * Y_MAX
is_predicted(i) = strstrt(CURVE_TITLE[i], 'predicted') > 0
lined(i) = !is_predicted(i)
key_mark(i) = is_predicted(i) ? OPEN[CURVE_STYLE[i]] : FILLED[CURVE_STYLE[i]]
mark(i) = is_predicted(i) || i > PANEL_LAST[1] ? key_mark(i) : -1
color(i) = strstrt(CURVE_TITLE[i], 'by row') > 0 ? COLOR[5] : COLOR[CURVE_STYLE[i]]
entry(i) = before(CURVE_TITLE[i], ' (no result)')

eval LOG_X
eval LOG_Y
set xrange [0.9 * X_MIN:1.1 * X_MAX]
set yrange [y_low:y_top]
eval AT_DATA
set ytics (15, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 100)
set xlabel 'tokens in a window'
set ylabel 'perplexity'
eval FLOOR_LINE
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
