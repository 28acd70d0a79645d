# ALiBi as curves from L_train on, light to dark: short to long; sinusoidal as points at
# L_valid = L_train. Both axes are linear, as in the paper, whose y axis ends at whole perplexities; at
# the other scales it begins and ends near the points.
y_low = PAPER ? floor(Y_MIN) : Y_MIN - 0.1 * (Y_MAX - Y_MIN)
y_top = PAPER ? ceil(Y_MAX) : Y_MAX + 0.1 * (Y_MAX - Y_MIN)
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
