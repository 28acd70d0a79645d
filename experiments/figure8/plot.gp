# Each model a mark: fast to the right, good at the bottom; light to dark by L_train. The paper shows
# 15,000 to 30,000 words per second and perplexities of 17.5 to 19.
x_room = 0.12 * (X_MAX - X_MIN) + 0.01 * X_MAX
y_room = 0.12 * (Y_MAX - Y_MIN) + 0.001 * Y_MAX

set xrange [X_MIN - x_room:X_MAX + x_room]
set yrange [Y_MIN - y_room:Y_MAX + y_room]
lined(i) = 0
set format x '%.0s%c'
set xlabel 'training, words per second (faster to the right)'
set ylabel 'perplexity on the longest length (lower is better)'
MARKS = CURVES_OF_PANEL.'using 1:2 with points linestyle CURVE_STYLE[i] linecolor rgb color(i) pointsize 2 notitle'
NAMES = CURVES_OF_PANEL.'using 1:2:(is_theirs(i) ? "" : CURVE_TITLE[i]) with labels offset 0,1.2 font ",9" textcolor rgb "#333333" notitle'
entry(i) = is_theirs(i) ? (i == PANEL_LAST[1] ? 'the paper' : '') : CURVE_SHADE[i] < 1 ? '' : method(i)
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.MARKS.', '.NAMES }
eval END
