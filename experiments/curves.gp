# The picture of `alibi curves`, after preamble.gp: a colour for each run, its training a line (block
# 2 i - 1 of the data) and its validations marks (block 2 i).
do for [i = 1:CURVES] {
    CURVE_SHADE[i] = 1
    CURVE_DASH[i] = (CURVE_STYLE[i] - 1) / STYLES + 1
    CURVE_STYLE[i] = (CURVE_STYLE[i] - 1) % STYLES + 1
}
entry(i) = CURVE_TITLE[i]
set xlabel 'update'
set ylabel 'loss, nats per token'
set autoscale xfix
set offsets graph 0,graph 0.01,0,0
eval BEGIN
p = 1
eval PANEL
plot for [i = 1:CURVES] DATA index (2 * i - 2) using 1:2 with lines linestyle CURVE_STYLE[i] \
    linewidth 1.2 linecolor rgb color(i) dashtype dash(i) notitle, \
    for [i = 1:CURVES] DATA index (2 * i - 1) using 1:2 with points linestyle CURVE_STYLE[i] \
    pointtype mark(i) linecolor rgb color(i) pointsize 1.2 notitle
eval END
