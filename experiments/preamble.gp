# What every figure has before its plot.gp. The script of a figure, plots/<artefact>-<scale>.gp, is
# its numbers, this file and the plot.gp. Axis labels are `set xlabel` and `set ylabel` of the plot.gp.
#
# The numbers, set before:
#
#   DATA              the data file; block i (gnuplot: index i-1) is curve i: x, y, standard
#                     deviation, runs, x of the paper; a missing point is an empty line
#   SCALE TITLE FACTS texts; TITLE names artefact and scale, FACTS protocol, split and seeds
#   PAPER             1 at scale paper
#   SCALED            1 when lengths are not the paper's
#   SEEDS             the most runs behind a point
#   FLOOR             exp(entropy) of the corpus, 0 if unknown
#   X_MIN X_MAX Y_MIN Y_MAX   over all points
#   PANELS            and arrays PANEL_TITLE, PANEL_FIRST, PANEL_LAST (curves of each)
#   CURVES            and arrays CURVE_TITLE, CURVE_STYLE (that of the view position_methods,
#                     such as 4 of ALiBi; 10 more for a curve of the paper), CURVE_SHADE (0 to 1
#                     among the curves of one style in a panel), line styles 1 to 9 and 11 to 19
#   color(i)          of curve i: the method's, light to dark by shade; the paper's grey
#   method(i) tokens(i) entry(i)   CURVE_TITLE without its length; the length; what the legend says
#                     of the curve ('': nothing). plot.gp may define entry again
#
# and commands for `eval`. BEGIN opens the picture with title and facts. PANEL, for p from 1 to
# PANELS, sets the frame of panel p. END closes the picture with a legend. Of these plot commands
# are made: LINES (each curve of panel p), BANDS (a deviation over seeds around it), OFF (a mark
# where it leaves the frame at y_top), LABELS (the length of ALiBi's curves below their
# beginnings, at y_low).
# FLOOR_LINE draws FLOOR where it is between y_low and y_top. NARROW is 1 for a phone: the panels
# are in a column.
#
# Texts are escaped for gnuplot's enhanced mode, L_valid and its like have subscripts. The paper's
# points are drawn at scale paper only.

# Sizes and terminals, in pixels of the SVG: a row of panels, or on a phone a column.
NARROW = FORMAT eq 'narrow.svg'
COLS = NARROW ? 1 : PANELS
ROWS = NARROW ? PANELS : 1
WIDTH = NARROW ? 480 : PANELS > 1 ? 1180 : 960
TITLE_CHARS = NARROW ? 52 : WIDTH / 10 # a line of the title
HEAD = NARROW ? 70 : strlen(TITLE) > TITLE_CHARS ? 64 : 40
FOOT = NARROW ? 122 : 84
KEY_COLUMNS = NARROW ? 2 : 6
START = "HEIGHT = HEAD + FOOT + ROWS * (NARROW ? 370 : 440); if (FORMAT eq 'svg' || NARROW) { \
    set terminal svg size WIDTH,HEIGHT font 'DejaVu Sans,12' \
    fontscale 1.15 enhanced background rgb 'white' }; if (FORMAT eq 'png') { \
    set terminal pngcairo size 1.5 * WIDTH,1.5 * HEIGHT font 'DejaVu Sans,10' fontscale 1.5 \
    linewidth 1.5 pointscale 1.5 enhanced background rgb 'white' }; if (FORMAT eq 'pdf') { \
    set terminal pdfcairo size WIDTH / 96.0,HEIGHT / 96.0 font 'DejaVu Sans,10' \
    fontscale 0.75 linewidth 1.5 pointscale 1.2 enhanced background rgb 'white' }; set output OUTPUT"
eval START

# A colour for each style (Okabe and Ito's, and others the colour-blind can tell apart), and the marks
# of ours and of the paper's curves.
array COLOR[9] = [0xD55E00, 0x009E73, 0xAA4499, 0x0072B2, 0x444444, 0x7A5C00, 0x5E3C99, 0x117A8B, \
    0xA50F37]
array FILLED[9] = [5, 9, 13, 7, 2, 11, 15, 3, 1]
array OPEN[9] = [4, 8, 12, 6, 1, 10, 14, 3, 2]
array SIZE[9] = [0.6, 0.8, 0.8, 0.6, 0.7, 0.8, 0.8, 0.7, 0.7]
do for [i = 1:9] {
    set style line i lc rgb COLOR[i] lw 2 pt FILLED[i] ps SIZE[i]
    set style line 10 + i lc rgb 0x888888 lw 1.2 dt 2 pt OPEN[i] ps SIZE[i] + 0.2
}

set encoding utf8
set datafile missing 'NaN'
set border 3 lc rgb '#444444'
set tics nomirror out scale 0.6
set grid lc rgb '#dddddd' lt 1 lw 0.5
set title offset 0,-0.4
unset key
px(n) = 1.0 * n / WIDTH
py(n) = 1.0 * n / HEIGHT
# The text in lines of at most n characters, broken after a space where one is near; gnuplot bounds
# recursion, hence the bounds.
space(s, n, k) = k == 30 || s[n - k:n - k] eq ' ' ? n - k : space(s, n, k + 1)
wrapped(s, n) = strlen(s) <= n ? s : s[1:space(s, n, 0)]."\n".wrapped(s[space(s, n, 0) + 1:*], n)
wrap(s, n) = wrapped(s[1:500], n)
mix(v, s) = int(v + (255 - v) * 0.65 * (1 - s))
tint(c, s) = mix(c / 65536, s) * 65536 + mix(c / 256 % 256, s) * 256 + mix(c % 256, s)
color(i) = CURVE_STYLE[i] > 10 ? 0x888888 : tint(COLOR[CURVE_STYLE[i]], CURVE_SHADE[i])
before(s, mark) = strstrt(s, mark) ? s[1:strstrt(s, mark) - 1] : s
method(i) = before(before(CURVE_TITLE[i], ' L='), ', ')
tokens(i) = strstrt(CURVE_TITLE[i], \
    ' L=') && CURVE_STYLE[i] == 4 ? CURVE_TITLE[i][strstrt(CURVE_TITLE[i], ' L=') + 3:*] : ''
entry(i) = CURVE_STYLE[i] > 10 ? (i == PANEL_LAST[1] ? 'the paper' : '') : CURVE_SHADE[i] < 1 ? \
    '' : method(i).(tokens(i) eq '' ? '' : ', by L_{train}')
in_two(s) = before(s, ' (').(NARROW || !strstrt(s, ' (') ? '' : "\n".s[strstrt(s, ' (') + 1:*])
BEGIN = "set multiplot; set label 101 wrap(TITLE, \
    TITLE_CHARS) at screen 0.5,1 - py(18) center font ',12'; set label 102 wrap(FACTS, \
    NARROW ? 72 : 150) at screen 0.5,py(NARROW ? 44 : 28) center \
    font ',9' textcolor rgb '#555555'"
PANEL = "if (p > 1) { unset label 101; unset label 102 }; if ((p - 1) % COLS) { unset ylabel }; \
    set title PANEL_TITLE[p]; set lmargin at screen ((p - 1) % COLS) * (1 - px(16)) / COLS + \
    px(86); set rmargin at screen ((p - 1) % COLS + 1) * (1 - px(16)) / COLS - px(4); \
    set tmargin at screen 1 - py(HEAD) - (p - 1) / COLS * (1 - py(HEAD + FOOT)) / ROWS - \
    py(PANEL_TITLE[p] eq '' ? 6 : 26); \
    set bmargin at screen 1 - py(HEAD) - ((p - 1) / COLS + 1) * (1 - py(HEAD + FOOT)) / ROWS + \
    py(NARROW ? 70 : 50); LABELLED = ''; do for [i = PANEL_FIRST[p]:PANEL_LAST[p]] { \
    if (tokens(i) ne '') { LABELLED = LABELLED.' '.i } }"
CURVES_OF_PANEL = 'for [i = PANEL_FIRST[p]:PANEL_LAST[p]] DATA index (i - 1) '
BANDS = SEEDS < 2 ? 'NaN notitle' : CURVES_OF_PANEL.'using 1:($2 - $3):($2 + $3) \
    with filledcurves fillstyle transparent solid 0.2 noborder fillcolor rgb color(i) notitle'
LINES = CURVES_OF_PANEL.'using 1:2 with linespoints linestyle CURVE_STYLE[i] \
    linecolor rgb color(i) notitle'
between(a, b, t) = a + (b - a) * t
x_was = 0; y_was = 0; is_off = 0; x_off = NaN
OFF = CURVES_OF_PANEL.'using (is_off = $0 == 0 ? 0 : is_off, \
    x_off = is_off || !($2 > y_top) ? NaN : $0 == 0 ? $1 : between(x_was, $1, \
    (y_top - y_was) / ($2 - y_was)), is_off = is_off || $2 > y_top, x_was = $1, y_was = $2, \
    x_off):(y_top) with points pointtype 9 pointsize 1 linecolor rgb color(i) notitle'
# gnuplot reads a plot command once even where no curve is labelled.
labelled(i) = i eq '' ? 1 : int(i)
LABELS = 'for [i in LABELLED] DATA index (labelled(i) - 1) every ::0:0:0:0 \
    using 1:(y_low):(0):($2 - y_low) with vectors nohead linewidth 1 dashtype 3 \
    linecolor rgb color(labelled(i)) notitle, \
    for [i in LABELLED] DATA index (labelled(i) - 1) every ::0:0:0:0 \
    using 1:(y_low):(in_two(tokens(labelled(i)))) \
    with labels left offset 0.4,1.5 font ",9" textcolor rgb "#333333" notitle'
FLOOR_LINE = "if (FLOOR > y_low && FLOOR < y_top) { set arrow 1 from graph 0, \
    first FLOOR to graph 1, first FLOOR nohead dt 3 lc rgb '#555555'; \
    set label 3 gprintf('floor of the text: %.2f', FLOOR) at graph 0.99, \
    first FLOOR right offset 0,-0.7 font ',9' textcolor rgb '#555555' }"
END = "unset title; unset xlabel; unset ylabel; unset tics; unset border; unset grid; \
    unset label; unset arrow; unset logscale; set lmargin at screen 0; set rmargin at screen 1; \
    set bmargin at screen py(NARROW ? 60 : 42); set tmargin at screen py(FOOT - 8); \
    set key inside center center horizontal maxcols KEY_COLUMNS samplen 2 width 1; \
    set xrange [0:1]; set yrange [0:1]; plot for [i = PANEL_FIRST[1]:PANEL_LAST[1]] keyentry \
    with linespoints linestyle CURVE_STYLE[i] linecolor rgb color(i) title entry(i), \
    NaN notitle; unset multiplot"

# What a plot.gp of a user may have from an earlier version.
shade(style, s) = style > 10 ? 0x888888 : tint(COLOR[style], s)
blue(s) = shade(4, s)
orange(s) = shade(1, s)
name(style, s, text) = style < 10 ? text : style == 14 && s == 1 ? 'the paper' : ''
FRAME = "set tmargin 3.5; set bmargin 5.5; set key outside right center vertical; \
    set label 101 wrap(TITLE, 130) at screen 0.5,0.965 center font ',12'; \
    set label 102 wrap(FACTS, 150) at screen 0.5,0.02 center font ',9' textcolor rgb '#555555'"
