# Perplexity over the context, relative to that with L tokens; both axes are logarithmic. A panel for each
# training length. Above 1.15 only the place is shown where a curve leaves.
y_low = 0.99 * (Y_MIN < 1 ? Y_MIN : 1)
y_top = Y_MAX > 1.15 ? 1.15 : 1.02 * Y_MAX
entry(i) = before(CURVE_TITLE[i], ' (no result)')

eval LOG_X
eval LOG_Y
set xrange [0.95 * X_MIN:1.05 * X_MAX]
set yrange [y_low:y_top]
set xtics ('1/8' 0.125, '1/4' 0.25, '1/2' 0.5, 1, 1.5, 2, 3, 4, 6)
if (NARROW) { set xtics ('1/8' 0.125, '1/4' 0.25, '1/2' 0.5, 1, 2, 3, 6) }
set ytics (0.9, 0.92, 0.94, 0.96, 0.98, 1, 1.02, 1.04, 1.06, 1.08, 1.1, 1.12, 1.14)
set xlabel 'tokens of context / L'
set ylabel 'perplexity, times that with L tokens of context'
set arrow 2 from first 1, graph 0 to first 1, graph 1 nohead lc rgb '#999999'
set arrow 3 from graph 0, first 1 to graph 1, first 1 nohead lc rgb '#999999'
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
