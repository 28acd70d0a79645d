# One panel for each L_train, both axes linear as in the paper, which shows perplexities of 8.6 to 10.2;
# at the other scales the top is cut at 1.6 times the lowest value.
y_low = PAPER ? 8.6 : 0.96 * Y_MIN
y_top = PAPER ? 10.2 : (Y_MAX > 1.6 * Y_MIN ? 1.6 * Y_MIN : 1.03 * Y_MAX)

set multiplot layout 1,PANELS title TITLE font ',11' margins 0.07,0.98,0.24,0.86 spacing 0.08,0
set label 1 FACTS at screen 0.5,0.02 center font ',9' textcolor rgb '#555555'
set key at screen 0.5,0.1 center center horizontal maxrows 1 samplen 2
set yrange [y_low:y_top]
set xrange [0:1.02 * X_MAX]
set xlabel SCALED ? 'L_valid: tokens at inference (at this scale)' : 'L_valid: tokens at inference'
eval FLOOR_LINE
do for [p = 1:PANELS] {
    set title PANEL_TITLE[p]
    if (p == 1) { set ylabel 'perplexity (lower is better)' } else { unset ylabel }
    plot for [i = PANEL_FIRST[p]:PANEL_LAST[p]] DATA index (i - 1) using 1:2 with linespoints linestyle CURVE_STYLE[i] title CURVE_TITLE[i]
    unset label 1
    unset key
}
unset multiplot
