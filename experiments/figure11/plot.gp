# Sinusoidal and ALiBi under a sliding window, light to dark by L_train. The paper shows perplexities
# of 16.5 to 19.5 and lets sinusoidal leave the picture; at the other scales y is logarithmic, and all
# of sinusoidal is there.
y_low = PAPER ? 16.5 : 0.9 * Y_MIN
y_top = PAPER ? 19.5 : 1.1 * Y_MAX

if (!PAPER) { eval LOG_Y; set ytics (5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 500) }
set xrange [0:1.08 * X_MAX]
set yrange [y_low:y_top]
eval AT_DATA
set xlabel 'L_{valid}: tokens of the window'
set ylabel 'perplexity (lower is better)'
eval FLOOR_LINE
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.OFF.', '.LABELS }
eval END
