# A curve for each method in relative axes, both logarithmic: length of the input and perplexity as
# multiples of what they are at L_valid = L_train. Above 1.6 only the place is shown where a curve leaves.
y_low = 0.97 * (Y_MIN < 1 ? Y_MIN : 1)
y_top = Y_MAX > 1.6 ? 1.6 : 1.02 * Y_MAX
entry(i) = before(CURVE_TITLE[i], ' (no result)')

eval LOG_X
eval LOG_Y
set yrange [y_low:y_top]
set xtics (1, 1.25, 1.5, 2, 3, 4, 6, 8, 12, 16, 24)
set ytics (0.8, 0.85, 0.9, 0.95, 1, 1.05, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6)
if (NARROW) { set ytics (0.8, 0.9, 1, 1.1, 1.2, 1.4, 1.6); set xtics (1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24) }
set xlabel 'L_{valid} / L_{train}'
set ylabel 'perplexity, times that at L_{valid} = L_{train}'
set arrow 2 from graph 0, first 1 to graph 1, first 1 nohead lc rgb '#999999'
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; set xrange [0.97:1.05 * PANEL_X_MAX[p]]; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
