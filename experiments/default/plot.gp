# The figure of a folder without a table.txt and a plot.gp.
# A row of the legend for every three curves:
entry(i) = CURVE_TITLE[i]
KEY_COLUMNS = NARROW ? 1 : 3
FOOT = FOOT + 18 * ((PANEL_LAST[1] - PANEL_FIRST[1]) / KEY_COLUMNS)
eval START
if (PANELS == 1) { PANEL_TITLE[1] = '' }
y_low = 0.97 * Y_MIN
y_top = Y_MAX > 2.5 * Y_MIN ? 2.5 * Y_MIN : 1.03 * Y_MAX
set logscale x 2
between(a, b, t) = a * (b / a)**t
set xrange [0.9 * X_MIN:1.1 * X_MAX]
set yrange [y_low:y_top]
set xlabel 'L_{valid}: tokens at inference'
set ylabel 'perplexity (lower is better)'
eval FLOOR_LINE
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
