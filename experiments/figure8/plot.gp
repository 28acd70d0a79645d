# Each model a mark: fast to the right, good at the bottom. ALiBi light to dark by L. The paper shows
# 15,000 to 30,000 words per second and perplexities of 17.5 to 19.

eval FRAME
set xrange [0.95 * X_MIN:1.05 * X_MAX]
set yrange [0.99 * Y_MIN:1.01 * Y_MAX]
set xlabel 'training speed, words per second (faster to the right)'
set ylabel 'perplexity on the longest length (lower is better)'
plot for [i = 1:CURVES] DATA index (i - 1) using 1:2 with points linestyle CURVE_STYLE[i] linecolor rgb shade(CURVE_STYLE[i], CURVE_SHADE[i]) pointsize 2 title name(CURVE_STYLE[i], CURVE_SHADE[i], CURVE_TITLE[i])
