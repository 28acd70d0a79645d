# Words per second over L at linear positions, both axes from 0, as in the paper.
set xrange [0:1.05 * X_MAX]
set yrange [0:1.15 * Y_MAX]
set format y '%.0s%c'
set xlabel 'L: tokens of an input'
set ylabel 'training, words per second'
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.LINES }
eval END
