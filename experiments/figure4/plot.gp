# ALiBi as dotted curves from L on, sinusoidal as points at L_valid = L, both axes linear as in the
# paper, whose axes end at whole perplexities. Light to dark: short to long L.
y_low = PAPER ? floor(Y_MIN) : 0.97 * Y_MIN
y_top = PAPER ? ceil(Y_MAX) : 1.02 * Y_MAX

blue(s) = int(140 - 140 * s) * 65536 + int(196 - 138 * s) * 256 + int(232 - 102 * s)
orange(s) = int(245 - 65 * s) * 65536 + int(176 - 116 * s) * 256 + int(120 - 120 * s)
shade(style, s) = style > 10 ? 0x999999 : style == 4 ? blue(s) : orange(s)

set tmargin 3.5
set label 2 TITLE at screen 0.5,0.965 center font ',11'
set label 1 FACTS at screen 0.5,0.02 center font ',9' textcolor rgb '#555555'
set bmargin 5.5
set key outside right center vertical
set xrange [0:1.05 * X_MAX]
set yrange [y_low:y_top]
set xlabel SCALED ? 'L_valid: tokens at inference (at this scale)' : 'L_valid: tokens at inference'
set ylabel 'perplexity (lower is better)'
if (PAPER) { set xtics 512 }
if (FLOOR > y_low && FLOOR < y_top) {
    set arrow 1 from graph 0, first FLOOR to graph 1, first FLOOR nohead dt 3 lc rgb '#555555'
    set label 3 sprintf('floor of the text: %.2f', FLOOR) at graph 0.99, first FLOOR right offset 0,-0.7 font ',9' textcolor rgb '#555555'
}
# The paper's curves are drawn in grey at scale paper, under one name.
name(style, s, text) = style < 10 ? text : style == 14 && s == 1 ? 'the paper' : ''
plot for [i = 1:CURVES] DATA index (i - 1) using 1:2 with linespoints linestyle CURVE_STYLE[i] linecolor rgb shade(CURVE_STYLE[i], CURVE_SHADE[i]) dashtype 2 + (CURVE_STYLE[i] > 10) title name(CURVE_STYLE[i], CURVE_SHADE[i], CURVE_TITLE[i]), \
    for [i = 1:CURVES] DATA index (i - 1) using 1:2:6 @TRACE
