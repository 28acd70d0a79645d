# One panel for each L_train, one curve for each method. The paper's axes are linear and show
# perplexities of 15 to 55. At the other scales x is logarithmic, so that what happens just beyond
# L_train can be seen, and the top is cut at 2.2 times the lowest value.
y_low = PAPER ? 15 : 0.95 * Y_MIN
y_top = PAPER ? 55 : (Y_MAX > 2.2 * Y_MIN ? 2.2 * Y_MIN : 1.03 * Y_MAX)

if (!PAPER) { eval LOG_X }
set xrange [PAPER ? 0 : 0.9 * X_MIN:1.05 * X_MAX]
set yrange [y_low:y_top]
set xlabel 'L_{valid}: tokens at inference'
set ylabel 'perplexity (lower is better)'
eval FLOOR_LINE
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
