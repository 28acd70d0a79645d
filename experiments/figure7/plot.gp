# Words per second over L at linear positions, both axes from 0, dotted, as in the paper.
eval FRAME
set xrange [0:1.05 * X_MAX]
set yrange [0:1.25 * Y_MAX]
set xlabel SCALED ? 'L: tokens of an input (at this scale)' : 'L: tokens of an input'
set ylabel 'training speed, words per second'
plot for [i = 1:CURVES] DATA index (i - 1) using 1:2 with linespoints linestyle CURVE_STYLE[i] dashtype 2 + (CURVE_STYLE[i] > 10) title CURVE_TITLE[i]
