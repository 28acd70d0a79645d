# Perplexity of a stream over the window on attention, relative to windows that are computed again. Models
# without positions have a panel and a y axis of their own: their streams lose much more.
entry(i) = CURVE_TITLE[i]
least_of(p) = 1 - 0.1 * (most_of(p) - 1)
most_of(p) = most(PANEL_FIRST[p], PANEL_LAST[p])
most(i, n) = i == n ? 0.002 + CURVE_Y_MAX[i] : CURVE_Y_MAX[i] + 0.002 > most(i + 1, n) ? CURVE_Y_MAX[i] + 0.002 : most(i + 1, n)

eval LOG_X
set xrange [0.95 * X_MIN:1.05 * X_MAX]
set xtics ('1/4' 0.25, '1/2' 0.5, 1, 2, 4)
set xlabel 'window on attention / L_{train}'
set ylabel 'perplexity, times that of windows computed again'
set arrow 3 from graph 0, first 1 to graph 1, first 1 nohead lc rgb '#999999'
eval BEGIN
do for [p = 1:PANELS] { y_low = least_of(p); y_top = most_of(p); eval PANEL; set yrange [y_low:y_top]; eval 'plot '.BANDS.', '.LINES }
eval END
