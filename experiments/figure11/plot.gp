# Sinusoidal and ALiBi under a sliding window; ALiBi light to dark by L_train. The paper shows
# perplexities of 16.5 to 19.5 and lets sinusoidal leave the picture; at the other scales the top is
# cut at 1.35 times the lowest value.
y_low = PAPER ? 16.5 : 0.97 * Y_MIN
y_top = PAPER ? 19.5 : (Y_MAX > 1.35 * Y_MIN ? 1.35 * Y_MIN : 1.02 * Y_MAX)

blue(s) = int(140 - 140 * s) * 65536 + int(196 - 138 * s) * 256 + int(232 - 102 * s)
orange(s) = int(245 - 65 * s) * 65536 + int(176 - 116 * s) * 256 + int(120 - 120 * s)

set tmargin 3.5
set label 2 TITLE at screen 0.5,0.965 center font ',11'
set label 1 FACTS at screen 0.5,0.02 center font ',9' textcolor rgb '#555555'
set bmargin 5.5
set key outside right center vertical
set xrange [0:1.03 * X_MAX]
set yrange [y_low:y_top]
set xlabel SCALED ? 'L_valid: window in tokens (at this scale)' : 'L_valid: window in tokens'
set ylabel 'perplexity (lower is better)'
if (FLOOR > y_low && FLOOR < y_top) {
    set arrow 1 from graph 0, first FLOOR to graph 1, first FLOOR nohead dt 3 lc rgb '#555555'
    set label 3 sprintf('floor of the text: %.2f', FLOOR) at graph 0.99, first FLOOR right offset 0,-0.7 font ',9' textcolor rgb '#555555'
}
plot for [i = 1:CURVES] DATA index (i - 1) using 1:2 with linespoints linestyle CURVE_STYLE[i] linecolor rgb (CURVE_STYLE[i] % 10 == 4 ? blue(CURVE_SHADE[i]) : orange(CURVE_SHADE[i])) title CURVE_TITLE[i], \
    for [i = 1:CURVES] DATA index (i - 1) using 1:2:6 @TRACE
