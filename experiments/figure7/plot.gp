# Words per second over L at linear positions, both axes from 0, dotted, as in the paper.
set tmargin 3.5
set label 2 TITLE at screen 0.5,0.965 center font ',11'
set label 1 FACTS at screen 0.5,0.02 center font ',9' textcolor rgb '#555555'
set bmargin 5.5
set key outside right center vertical
set xrange [0:1.05 * X_MAX]
set yrange [0:1.25 * Y_MAX]
set xlabel SCALED ? 'L: tokens of an input (at this scale)' : 'L: tokens of an input'
set ylabel 'training speed, words per second'
plot for [i = 1:CURVES] DATA index (i - 1) using 1:2 with linespoints linestyle CURVE_STYLE[i] dashtype 2 + (CURVE_STYLE[i] > 10) title CURVE_TITLE[i], \
    for [i = 1:CURVES] DATA index (i - 1) using 1:2:6 @TRACE
