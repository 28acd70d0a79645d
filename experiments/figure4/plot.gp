# ALiBi as curves from L_train on, light to dark: short to long; sinusoidal as points at
# L_valid = L_train. Both axes are linear, as in the paper, whose axes end at whole perplexities; at
# the other scales y spans a third of its lowest value or more, so that one percent looks like one.
y_room = 0.33 * Y_MIN > Y_MAX - Y_MIN ? (0.33 * Y_MIN - Y_MAX + Y_MIN) / 2 : 0
y_low = PAPER ? floor(Y_MIN) : 0.97 * Y_MIN - y_room
y_top = PAPER ? ceil(Y_MAX) : 1.02 * Y_MAX + y_room
lined(i) = CURVE_STYLE[i] % 100 == 4

set xrange [0:1.08 * X_MAX]
set yrange [y_low:y_top]
set xlabel 'L_{valid}: tokens at inference'
set ylabel 'perplexity (lower is better)'
if (PAPER) { set xtics 512 } else { eval AT_DATA }
eval FLOOR_LINE
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.LABELS }
eval END
