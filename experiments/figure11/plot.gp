# Sinusoidal and ALiBi under a sliding window, light to dark by L_train. The paper shows perplexities
# of 16.5 to 19.5 and lets sinusoidal leave the picture, here above 1.25 times the lowest value.
y_low = PAPER ? 16.5 : 0.97 * Y_MIN
y_top = PAPER ? 19.5 : least(1.03 * Y_MAX, 1.25 * Y_MIN)

set xrange [0:1.08 * X_MAX]
set yrange [y_low:y_top]
eval AT_DATA
set xlabel 'L_{valid}: tokens of the window'
set ylabel 'perplexity (lower is better)'
eval FLOOR_LINE
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.OFF.', '.LABELS }
eval END
