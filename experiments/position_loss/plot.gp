# One panel for each L_train, one curve for each method; a point is a range of positions and is drawn
# at its last one. Both axes are logarithmic. The line is where the inputs of training end.
y_low = 0.95 * Y_MIN
y_top = Y_MAX > 3 * Y_MIN ? 3 * Y_MIN : 1.05 * Y_MAX

eval LOG_X
eval LOG_Y
set xrange [0.9 * X_MIN:1.1 * X_MAX]
set yrange [y_low:y_top]
set xtics ('1/1024' 1/1024., '1/256' 1/256., '1/64' 1/64., '1/16' 1/16., '1/4' 0.25, '1' 1, '4' 4, '16' 16, '64' 64)
set ytics (8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200)
set xlabel 'position in the window / L_{train}'
set ylabel 'perplexity at this position'
set arrow 2 from first 1, graph 0 to first 1, graph 1 nohead lc rgb '#999999'
eval FLOOR_LINE
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
