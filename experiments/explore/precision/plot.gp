# What rounding costs, in per cent of perplexity, over the tokens of a row; a panel for each training. The
# lines are where a format ends to have every whole number: bf16 at 256, fp16 at 2,048.
y_low = -0.05 * (Y_MAX > 1 ? Y_MAX : 1)
y_top = 1.1 * (Y_MAX > 1 ? Y_MAX : 1)
entry(i) = CURVE_TITLE[i]

eval LOG_X
set xrange [0.9 * X_MIN:1.1 * X_MAX]
set yrange [y_low:y_top]
set xtics (64, 256, 1024, 2048, 4096, 7680)
set xlabel 'tokens of a row'
set ylabel 'rise of perplexity in %'
set arrow 2 from first 256, graph 0 to first 256, graph 1 nohead dt 3 lc rgb '#999999'
set arrow 3 from first 2048, graph 0 to first 2048, graph 1 nohead dt 3 lc rgb '#999999'
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
