# ALiBi as dotted curves from L on, sinusoidal as points at L_valid = L, both axes linear as in the
# paper, whose axes end at whole perplexities. Light to dark: short to long L.
y_low = PAPER ? floor(Y_MIN) : 0.97 * Y_MIN
y_top = PAPER ? ceil(Y_MAX) : 1.02 * Y_MAX

eval FRAME
set xrange [0:1.05 * X_MAX]
set yrange [y_low:y_top]
set xlabel SCALED ? 'L_valid: tokens at inference (at this scale)' : 'L_valid: tokens at inference'
set ylabel 'perplexity (lower is better)'
if (PAPER) { set xtics 512 }
eval FLOOR_LINE
plot for [i = 1:CURVES] DATA index (i - 1) using 1:2 with linespoints linestyle CURVE_STYLE[i] linecolor rgb shade(CURVE_STYLE[i], CURVE_SHADE[i]) dashtype 2 + (CURVE_STYLE[i] > 10) title name(CURVE_STYLE[i], CURVE_SHADE[i], CURVE_TITLE[i])
