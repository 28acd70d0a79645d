# Bars side by side for each input length: words per second in training and at inference, memory in
# training. The axes begin at 0, as in the paper. At scale paper its numbers are the open marks.
set style fill solid 0.9 border rgb 'white'
set boxwidth 0.2
set xrange [0.4:3.6]
set yrange [0:*]
set xlabel 'L: tokens of an input'
# Values are in words per second and in GB; a prefix lets small models have a figure too.
group(nominal) = nominal < 700 ? 1 : nominal < 2000 ? 2 : 3
place(nominal, style) = group(nominal) + 0.2 * ((style % 100) - 2.5)
length(x, nominal) = x == nominal ? sprintf('%d', x) : sprintf('%d (%d)', x, nominal)
BARS = CURVES_OF_PANEL.'using (place($5, CURVE_STYLE[i])):(!is_theirs(i) ? $2 * factor : NaN) with boxes linestyle (CURVE_STYLE[i] % 100) notitle'
MARKS = CURVES_OF_PANEL.'using (place($1, CURVE_STYLE[i])):(is_theirs(i) ? $2 * factor : NaN) with points pointtype 6 pointsize 1.2 linecolor rgb "#222222" notitle'
TICS = 'DATA index (PANEL_FIRST[p] - 1) using (group($5)):(0):xtic(length($1, $5)) with dots linecolor rgb "white" notitle'
lined(i) = 0 # the legend shows squares for bars
mark(i) = is_theirs(i) ? 6 : 5
eval BEGIN
do for [p = 1:PANELS] {
    eval PANEL
    is_memory = strstrt(PANEL_TITLE[p], 'Memory') > 0
    is_training = strstrt(PANEL_TITLE[p], 'Training') > 0
    factor = is_memory ? 1e9 : 1.0
    set format y is_memory ? '%.0s %cB' : '%.0s%c'
    set title is_memory ? 'memory in training' : is_training ? 'training, words per second' : 'inference, words per second'
    eval 'plot '.BARS.', '.MARKS.', '.TICS
}
eval END
