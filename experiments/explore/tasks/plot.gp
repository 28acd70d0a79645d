# One curve for each method: the share of right letters by their place in the copy, of short strings and of
# long ones. The dotted line is chance.
y_low = 0
y_top = 1.03

set yrange [y_low:y_top]
set xtics ('1' 1, '2–9' 2, '10–27' 3, '1' 4, '2–28' 5, '29–64' 6, '65–128' 7, '129–189' 8)
set ytics 0, 0.25, 1
set xlabel 'letter of the copy: of strings of 4 to 27 letters, then of 28 to 189'
set ylabel 'right letters'
set arrow 2 from first 3.5, graph 0 to first 3.5, graph 1 nohead lc rgb '#999999'
set arrow 3 from graph 0, first 1 / 26. to graph 1, first 1 / 26. nohead dt 3 lc rgb '#999999'
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; set xrange [0.7:8.3]; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
