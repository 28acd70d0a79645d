# One panel for each L_train, one curve for each arm; a point is a range of distances and is drawn at
# its geometric mean. The vertical line is L_train, the dotted one is chance.
y_low = 0
y_top = 1.03

# The arms of ALiBi differ in slopes: the steeper, the darker in both panels.
steepness(s) = strstrt(s, 'slopes 0') ? 0 : strstrt(s, 'c = 64') ? 1 : strstrt(s, 'c = 32') ? 0.85 : strstrt(s, 'c = 16') ? 0.7 : strstrt(s, 'c = 8') ? 0.55 : 0.35
color(i) = tint(COLOR[CURVE_STYLE[i]], CURVE_STYLE[i] == 4 ? steepness(CURVE_TITLE[i]) : 1)
entry(i) = CURVE_TITLE[i]

eval LOG_X
set yrange [y_low:y_top]
set xtics (4, 8, 16, 32, 64, 128, 256)
set ytics 0, 0.25, 1
set xlabel 'tokens from the query back to its needle'
set ylabel 'right answers'
set arrow 3 from graph 0, first 0.125 to graph 1, first 0.125 nohead dt 3 lc rgb '#999999'
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; set xrange [0.9 * X_MIN:1.1 * X_MAX]; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
