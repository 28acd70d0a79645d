# Each model a mark: fast to the right, good at the bottom. ALiBi light to dark by L. The paper shows
# 15,000 to 30,000 words per second and perplexities of 17.5 to 19.
blue(s) = int(140 - 140 * s) * 65536 + int(196 - 138 * s) * 256 + int(232 - 102 * s)
orange(s) = int(245 - 65 * s) * 65536 + int(176 - 116 * s) * 256 + int(120 - 120 * s)
shade(style, s) = style > 10 ? 0x999999 : style == 4 ? blue(s) : orange(s)

set tmargin 3.5
set label 2 TITLE at screen 0.5,0.965 center font ',11'
set label 1 FACTS at screen 0.5,0.02 center font ',9' textcolor rgb '#555555'
set bmargin 5.5
set key outside right center vertical
set xrange [0.95 * X_MIN:1.05 * X_MAX]
set yrange [0.99 * Y_MIN:1.01 * Y_MAX]
# The paper's points are open marks at scale paper, under one name.
name(style, s, text) = style < 10 ? text : style == 14 && s == 1 ? 'the paper' : ''
set xlabel 'training speed, words per second (faster to the right)'
set ylabel 'perplexity on the longest length (lower is better)'
plot for [i = 1:CURVES] DATA index (i - 1) using 1:2 with points linestyle CURVE_STYLE[i] linecolor rgb shade(CURVE_STYLE[i], CURVE_SHADE[i]) pointsize 2 title name(CURVE_STYLE[i], CURVE_SHADE[i], CURVE_TITLE[i]), \
    for [i = 1:CURVES] DATA index (i - 1) using 1:2:6 @TRACE
