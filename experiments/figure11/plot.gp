# Sinusoidal and ALiBi under a sliding window; ALiBi light to dark by L_train. The paper shows
# perplexities of 16.5 to 19.5 and lets sinusoidal leave the picture; at the other scales the top is
# cut at 1.35 times the lowest value.
y_low = PAPER ? 16.5 : 0.97 * Y_MIN
y_top = PAPER ? 19.5 : (Y_MAX > 1.35 * Y_MIN ? 1.35 * Y_MIN : 1.02 * Y_MAX)

eval FRAME
set xrange [0:1.03 * X_MAX]
set yrange [y_low:y_top]
set xlabel SCALED ? 'L_valid: window in tokens (at this scale)' : 'L_valid: window in tokens'
set ylabel 'perplexity (lower is better)'
eval FLOOR_LINE
plot for [i = 1:CURVES] DATA index (i - 1) using 1:2 with linespoints linestyle CURVE_STYLE[i] linecolor rgb (CURVE_STYLE[i] % 10 == 4 ? blue(CURVE_SHADE[i]) : orange(CURVE_SHADE[i])) title CURVE_TITLE[i]
