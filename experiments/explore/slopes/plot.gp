# The slope of each head after training: of the scale's set, which is not trained, and of the learned ones.
is_own(i) = strstrt(CURVE_TITLE[i], 'learned') == 0
color(i) = is_own(i) ? 0x777777 : COLOR[word('4 1 2 3', 1 + (i - 1) % 4) + 0]
dash(i) = is_own(i) ? 2 : 1
mark(i) = word('6 7 9 13 5', 1 + (i - 1) % 5) + 0
entry(i) = CURVE_TITLE[i]
set logscale y 2
set xrange [X_MIN - 0.3:X_MAX + 0.3]
set yrange [0.7 * Y_MIN:1.4 * Y_MAX]
set format y '%g'
set xlabel 'head'
set ylabel 'slope after training'
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.LINES }
eval END
