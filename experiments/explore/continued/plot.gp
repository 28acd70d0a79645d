# One panel for each part but one, one curve for each arm over its learning rates; the table shows the
# one that is best on valid. What went on, or is scaled, has a dash of its own. The top is cut at 1.7
# times the lowest value.
array OTHER[5] = [' then ', ' pi,', ' ntk,', ' dynamic_ntk,', ' yarn,']
do for [i = 1:CURVES] { do for [k = 1:5] { if (strstrt(CURVE_TITLE[i], OTHER[k]) > 0) { CURVE_DASH[i] = k + 1 } } }
y_low = 0.98 * Y_MIN
y_top = Y_MAX > 1.7 * Y_MIN ? 1.7 * Y_MIN : 1.02 * Y_MAX
entry(i) = CURVE_TITLE[i]
eval LOG_X
set yrange [y_low:y_top]
set xrange [0.8 * X_MIN:1.25 * X_MAX]
set xtics (0.0002, 0.0007, 0.002, 0.007, 0.02)
set xlabel 'learning rate'
set ylabel 'perplexity on 3072 tokens of test (lower is better)'
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
