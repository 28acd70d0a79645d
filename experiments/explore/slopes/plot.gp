# Perplexity over the factor on the paper's slopes, a curve for each length of input.
y_low = 0.99 * Y_MIN
y_top = Y_MAX > 1.3 * Y_MIN ? 1.3 * Y_MIN : 1.01 * Y_MAX
entry(i) = 'L_{valid} / L_{train} = '.CURVE_TITLE[i][strstrt(CURVE_TITLE[i], '=') + 1:strlen(CURVE_TITLE[i]) - 1]
mark(i) = word('7 9 13 5', i) + 0

eval LOG_X
set xrange [0.9 * X_MIN:1.1 * X_MAX]
set yrange [y_low:y_top]
set xtics ('1/16' 1/16., '1/8' 1/8., '1/4' 0.25, '1/2' 0.5, 1, 2, 4, 8, 16, 32, 64)
set xlabel 'slopes, times the paper''s'
set ylabel 'perplexity on the test split (lower is better)'
eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval 'plot '.BANDS.', '.LINES.', '.OFF }
eval END
