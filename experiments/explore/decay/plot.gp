# A panel for each depth; the curves of one head.
y_low = 1e-5
y_top = 1
eval LOG_Y
set yrange [y_low:y_top]
set format y '10^{%L}'
set xrange [-1:1.02 * X_MAX]
set xlabel 'distance from the last word of the row'
set ylabel 'weight through all layers'
entry(i) = CURVE_TITLE[i]
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
