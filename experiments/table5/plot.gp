# ALiBi's models as curves over L_valid (light to dark: short to long L_train), the other methods at
# L_valid = L_train: the paper's Figure 4, with all eight lengths and so with a logarithmic x axis.
y_low = 0.97 * Y_MIN
y_top = 1.02 * Y_MAX

# From light blue (short) to dark blue (long); a curve of another method keeps the colour of its style.
shade(s) = int(178 - 178 * s) * 65536 + int(216 - 158 * s) * 256 + int(240 - 110 * s)

eval FRAME
set logscale x 2
set xrange [0.9 * X_MIN:1.12 * X_MAX]
set yrange [y_low:y_top]
set xlabel SCALED ? 'L_valid: tokens at inference (at this scale)' : 'L_valid: tokens at inference'
set ylabel 'perplexity (lower is better)'
eval FLOOR_LINE
# The paper's curves, at scale paper: ALiBi's in one grey under one name.
color(style, s) = style == 4 ? shade(s) : style == 14 ? 0x999999 : style % 10 == 1 ? 0xD55E00 : style % 10 == 2 ? 0x009E73 : style % 10 == 3 ? 0xAA4499 : 0x444444
name(style, s, text) = style != 14 ? text : s == 0 ? 'ALiBi (paper)' : ''
plot for [i = 1:CURVES] DATA index (i - 1) using 1:2 with linespoints linestyle CURVE_STYLE[i] linecolor rgb color(CURVE_STYLE[i], CURVE_SHADE[i]) title name(CURVE_STYLE[i], CURVE_SHADE[i], CURVE_TITLE[i])
