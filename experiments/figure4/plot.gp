# ALiBi as curves from L_train on, light to dark: short to long; sinusoidal as points at
# L_valid = L_train. Both axes are linear, as in the paper, whose axes end at whole perplexities.
y_low = PAPER ? floor(Y_MIN) : 0.97 * Y_MIN
y_top = PAPER ? ceil(Y_MAX) : 1.02 * Y_MAX

set xrange [0:1.08 * X_MAX]
set yrange [y_low:y_top]
set xlabel 'L_{valid}: tokens at inference'
set ylabel 'perplexity (lower is better)'
if (PAPER) { set xtics 512 }
eval FLOOR_LINE
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.LABELS }
eval END
