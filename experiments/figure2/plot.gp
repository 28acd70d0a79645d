# Bars side by side for each input length: words per second in training and in evaluation, memory in
# training. The axes begin at 0, as in the paper. At scale paper its numbers are the open marks.
set multiplot layout 1,PANELS title TITLE font ',11' margins 0.06,0.99,0.29,0.86 spacing 0.06,0
set label 1 FACTS at screen 0.5,0.02 center font ',9' textcolor rgb '#555555'
set key at screen 0.5,0.12 center center horizontal samplen 2
set style fill solid 0.85 border rgb 'white'
set boxwidth 0.2
set xrange [0.4:3.6]
set yrange [0:*]
set xlabel SCALED ? 'input length of the paper' : 'input length'
set xtics ('512' 1, '1024' 2, '3072' 3)
# Values are in words per second and in GB; a prefix lets small models have a figure too.
set format y '%.0s%c'
place(nominal, style) = (nominal < 700 ? 1 : nominal < 2000 ? 2 : 3) + 0.2 * ((style % 10) - 2.5)
do for [p = 1:PANELS] {
    factor = p == 3 ? 1e9 : 1.0
    set title PANEL_TITLE[p][9:*].(p == 3 ? ' (bytes)' : ' (words per second)')
    plot for [i = PANEL_FIRST[p]:PANEL_LAST[p]] DATA index (i - 1) using (place($5, CURVE_STYLE[i])):(CURVE_STYLE[i] < 10 ? $2 * factor : NaN) with boxes linestyle (CURVE_STYLE[i] % 10) title (CURVE_STYLE[i] < 10 ? CURVE_TITLE[i] : ''), \
         for [i = PANEL_FIRST[p]:PANEL_LAST[p]] DATA index (i - 1) using (place($1, CURVE_STYLE[i])):(CURVE_STYLE[i] > 10 ? $2 * factor : NaN) with points pointtype 6 pointsize 1.2 linecolor rgb '#222222' title (CURVE_STYLE[i] == 14 ? 'the paper' : '')
    unset label 1
    unset key
}
unset multiplot
