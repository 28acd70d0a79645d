# ALiBi's models as curves over L_valid, light to dark by L_train; the other methods as points, each
# of which is a model of its own, at L_valid = L_train: the paper's Figure 4 with all eight lengths,
# hence a logarithmic x axis.
y_low = Y_MIN - 0.06 * (Y_MAX - Y_MIN)
y_top = Y_MAX + 0.06 * (Y_MAX - Y_MIN)
lined(i) = CURVE_STYLE[i] % 100 == 4

eval LOG_X
set xrange [0.7 * X_MIN:1.4 * X_MAX]
set yrange [y_low:y_top]
eval AT_DATA
set xlabel 'L_{valid}: tokens at inference'
set ylabel 'perplexity (lower is better)'
eval FLOOR_LINE
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.LABELS }
eval END
