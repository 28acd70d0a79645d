# One panel for each length of evaluation. The paper shows 0 to 6000 GPU hours and perplexities of 8.5
# to 11; at the other scales the axes fit the points, without the first steep part.
y_low = PAPER ? 8.5 : 0.95 * Y_MIN
y_top = PAPER ? 11 : (Y_MAX > 3 * Y_MIN ? 3 * Y_MIN : 1.03 * Y_MAX)

set multiplot layout 1,PANELS title TITLE font ',11' margins 0.07,0.98,0.26,0.86 spacing 0.08,0
set label 1 FACTS at screen 0.5,0.02 center font ',9' textcolor rgb '#555555'
set key inside top right samplen 2
set yrange [y_low:y_top]
# Minutes where hours would be a string of zeros.
unit = X_MAX < 1 ? 60.0 : 1.0
set xrange [0:1.03 * unit * X_MAX]
set xlabel X_MAX < 1 ? 'training time (minutes of one device)' : 'training time (hours of one device; the paper: GPU hours)'
eval FLOOR_LINE
do for [p = 1:PANELS] {
    set title PANEL_TITLE[p][9:*]
    if (p == 1) { set ylabel 'perplexity on valid (lower is better)' } else { unset ylabel }
    plot for [i = PANEL_FIRST[p]:PANEL_LAST[p]] DATA index (i - 1) using ($1 * unit):2 with linespoints linestyle CURVE_STYLE[i] title CURVE_TITLE[i]
    unset label 1
}
unset multiplot
