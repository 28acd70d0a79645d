# As Figure 1, with less room above: the paper shows perplexities of 8.6 to 10.2; at the other scales
# the top is cut at 1.6 times the lowest value.
y_low = PAPER ? 8.6 : 0.96 * Y_MIN
y_top = PAPER ? 10.2 : (Y_MAX > 1.6 * Y_MIN ? 1.6 * Y_MIN : 1.03 * Y_MAX)

if (!PAPER) { eval LOG_X }
set xrange [PAPER ? 0 : 0.9 * X_MIN:1.05 * X_MAX]
set yrange [y_low:y_top]
set xlabel 'L_{valid}: tokens at inference'
set ylabel 'perplexity (lower is better)'
eval FLOOR_LINE
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
