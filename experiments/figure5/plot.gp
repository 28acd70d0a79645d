# One panel for each length of evaluation. The paper shows 0 to 6000 GPU hours and perplexities of 8.5
# to 11; at the other scales the axes fit the points, without the first steep part.
y_low = PAPER ? 8.5 : 0.95 * Y_MIN
y_top = PAPER ? 11 : (Y_MAX > 3 * Y_MIN ? 3 * Y_MIN : 1.03 * Y_MAX)
entry(i) = '' # its legends are in the panels
set xrange [0:1.03 * X_MAX]
set yrange [y_low:y_top]
# The unit of query.sql.
set xlabel PAPER ? 'training time (hours of one device; the paper: GPU hours)' : 'training time (minutes of one device)'
set ylabel 'perplexity of the validation text'
set key top right samplen 2
eval FLOOR_LINE
eval BEGIN
do for [p = 1:PANELS] {
    eval PANEL
    s = CURVE_TITLE[PANEL_FIRST[p]] # "Sinusoidal L=128 (1024)", which is evaluated on its own length
    set title 'evaluated on '.s[strstrt(s, '=') + 1:*].' tokens'
    plot for [i = PANEL_FIRST[p]:PANEL_LAST[p]] DATA index (i - 1) using 1:2 with linespoints linestyle CURVE_STYLE[i] title CURVE_TITLE[i]
}
unset multiplot
