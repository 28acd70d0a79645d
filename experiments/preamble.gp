# What every figure has before its plot.gp. The script of a figure, plots/<artefact>-<scale>.gp, is
# its numbers, this file and the plot.gp. Axis labels are `set xlabel` and `set ylabel` of the plot.gp.
#
# The numbers, set before:
#
#   DATA              the data file; block i (gnuplot: index i-1) is curve i: x, y, standard
#                     deviation, runs, x of the paper; a missing point is an empty line
#   SCALE TITLE FACTS texts; TITLE names artefact and scale, FACTS protocol, split, seeds and what all
#                     curves share
#   PAPER             1 at scale paper
#   SCALED            1 when lengths are not the paper's
#   SEEDS             the most runs behind a point
#   FLOOR             exp(entropy) of the corpus, 0 if unknown
#   WIDTH_IN          inches of `alibi report --width`, which omits title and facts; 0 without it
#   X_MIN X_MAX Y_MIN Y_MAX   over all points
#   X_BASE            of a logarithmic x axis by `xscale:` of table.txt or the values; 0: linear
#   X_LABEL Y_LABEL   of `xlabel:` and `ylabel:`, or the columns' names
#   X_TICS            the values of x as words, if they are few; else ''
#   PANELS            and arrays PANEL_TITLE, PANEL_FIRST, PANEL_LAST (curves of each), PANEL_X_MAX
#   CURVES            and arrays CURVE_TITLE, CURVE_STYLE (that of the view position_methods,
#                     such as 4 of ALiBi; 100 more for a curve of the paper), CURVE_SHADE (0 to 1
#                     among the curves of one style and dash in a panel), CURVE_DASH (from 1: a number
#                     for each combination of settings in the titles), CURVE_Y_MAX, CURVE_SAME (the earlier
#                     curve of the panel with the same points; 0: none), CURVE_ALSO (" (= ...)": the
#                     names of the later ones)
#   color(i)          of curve i: the method's, light to dark by shade; the paper's grey
#   lined(i)          1: a line joins the points of curve i. plot.gp may define it again
#   drawn(i)          1: curve i is drawn. plot.gp may define it again
#   BAND              opacity of the bands of deviations
#   ONE_METHOD        a command: if all curves are of one method, each combination of settings has
#                     a colour, mark and dash
#   method(i) tokens(i) entry(i)   CURVE_TITLE without its length; the length; what the legend says
#                     of the curve ('': nothing). plot.gp may define entry again. An entry for shades
#                     follows if curves without one differ in them
#   key_color(i) key_mark(i)   colour and mark of an entry; plot.gp may define them again
#
# and commands for `eval`. BEGIN opens the picture with title and facts. PANEL, for p from 1 to
# PANELS, sets the frame of panel p. END closes the picture with a legend. Of these plot commands
# are made: LINES (each curve of panel p), BANDS (a deviation over seeds around it), OFF (a mark
# where it leaves the frame at y_top), LABELS (dotted, from the beginnings of ALiBi's curves down to
# y_low). A mark of LINES that would touch the one before it is left out.
# LOG_X and LOG_Y make an axis logarithmic; AT_DATA, after them, puts ticks at the values of x if they
# are few, with the paper's length at those where ALiBi's curves begin.
# FLOOR_LINE draws FLOOR where it is between y_low and y_top. NARROW is 1 for a phone and for a
# column of text: the panels are in a column.
#
# Texts are escaped for gnuplot's enhanced mode, L_valid and its like have subscripts. The paper's
# points are drawn at scale paper only.

# Sizes in pixels of the SVG: a row of panels, or on a phone a column. A figure for a text has its
# width, and ZOOM makes its letters 9 points high. BEGIN adds the legend's rows to FOOT.
ZOOM = WIDTH_IN > 0 ? 0.85 : 1.0
WIDTH = WIDTH_IN > 0 ? WIDTH_IN * 96 / ZOOM : FORMAT eq 'narrow.svg' ? 480 : PANELS > 1 ? 1180 : 960
NARROW = WIDTH < 300 * PANELS || WIDTH < 500
COLS = NARROW ? 1 : PANELS
ROWS = NARROW ? PANELS : 1
ROW = WIDTH_IN > 0 ? (WIDTH < 560 * COLS ? 50 + 0.7 * WIDTH / COLS : 440) : NARROW ? 370 : 440
TITLE_CHARS = int(WIDTH / (NARROW ? 9.2 : 10)) # a line of the title, of the facts
FACTS_CHARS = int(WIDTH / 6.4)
lines(s, n) = strlen(s) / n + 1
HEAD = WIDTH_IN > 0 ? 8 : 20 + 20 * lines(TITLE, TITLE_CHARS)
LEFT = WIDTH_IN > 0 ? 76 : 86
FOOT = WIDTH_IN > 0 ? 6 : 16 + 14 * lines(FACTS, FACTS_CHARS)
KEY_COLUMNS = 6 # at most
START = "HEIGHT = HEAD + FOOT + ROWS * ROW; if (FORMAT eq 'svg' || FORMAT eq 'narrow.svg') { \
    set terminal svg size ZOOM * WIDTH,ZOOM * HEIGHT font 'DejaVu Sans,12' \
    fontscale 1.15 * ZOOM linewidth ZOOM enhanced background rgb 'white' }; if (FORMAT eq 'png') { \
    DENSITY = WIDTH_IN > 0 ? 300 / 96.0 : 1.5; \
    set terminal pngcairo size DENSITY * ZOOM * WIDTH,DENSITY * ZOOM * HEIGHT \
    font 'DejaVu Sans,10' fontscale DENSITY * ZOOM linewidth DENSITY * ZOOM \
    pointscale DENSITY * ZOOM enhanced background rgb 'white' }; if (FORMAT eq 'pdf') { \
    set terminal pdfcairo size ZOOM * WIDTH / 96.0,ZOOM * HEIGHT / 96.0 font 'DejaVu Sans,10' \
    fontscale 0.75 * ZOOM linewidth 1.5 * ZOOM pointscale 1.2 * ZOOM enhanced \
    background rgb 'white' }; set output OUTPUT"
eval START

# For each style a colour (hues of Okabe and Ito, and others the colour-blind can tell apart; 5 is of
# names that are not methods; the paper's four methods differ in lightness, for a print in grey), a
# mark, the mark of the paper's curves and of many settings, and the first dash, from which settings
# count. The paper's four methods have solid lines; no two styles share both mark and dash.
STYLES = 17
array COLOR[STYLES] = [0xD55E00, 0x00805C, 0xC46FC0, 0x00509E, 0x444444, 0x7A5C00, 0x5E3C99, \
    0x117A8B, 0xA50F37, 0x6B8E00, 0x7080FF, 0xE0559B, 0x000000, 0x8C510A, 0x00A0DC, 0x1B5E20, \
    0xE69F00]
array FILLED[STYLES] = [5, 9, 13, 7, 2, 11, 15, 3, 1, 8, 12, 10, 4, 14, 6, 2, 5]
array OPEN[STYLES] = [4, 8, 12, 6, 1, 10, 14, 3, 2, 9, 13, 11, 5, 15, 7, 1, 4]
array SIZE[STYLES] = [0.6, 0.8, 0.8, 0.6, 0.7, 0.8, 0.8, 0.7, 0.7, 0.8, 0.8, 0.8, 0.6, 0.8, 0.7, \
    0.7, 0.6]
array DASH[STYLES] = [1, 1, 1, 1, 1, 2, 3, 2, 4, 5, 6, 3, 4, 5, 2, 6, 3]
DASHES = 6
set dashtype 2 (9, 4)
set dashtype 3 (2, 3)
set dashtype 4 (9, 3, 2, 3)
set dashtype 5 (16, 4, 4, 4)
set dashtype 6 (4, 3, 4, 8)
do for [i = 1:STYLES] {
    set style line i lc rgb COLOR[i] lw 2 pt FILLED[i] ps SIZE[i]
    set style line 100 + i lc rgb 0x888888 lw 1.2 dt 2 pt OPEN[i] ps SIZE[i] + 0.2
}

set encoding utf8
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
mix(v, s) = int(v + (255 - v) * 0.5 * (1 - s))
tint(c, s) = mix(c / 65536, s) * 65536 + mix(c / 256 % 256, s) * 256 + mix(c % 256, s)
is_theirs(i) = CURVE_STYLE[i] > 100
color(i) = is_theirs(i) ? 0x888888 : tint(COLOR[CURVE_STYLE[i]], CURVE_SHADE[i])
dash(i) = is_theirs(i) ? 2 : (DASH[CURVE_STYLE[i]] + CURVE_DASH[i] - 2) % DASHES + 1
mark(i) = is_theirs(i) ? OPEN[CURVE_STYLE[i] - 100] : \
    CURVE_DASH[i] > DASHES ? OPEN[CURVE_STYLE[i]] : FILLED[CURVE_STYLE[i]]
lined(i) = 1
drawn(i) = 1
BAND = 0.2
ONE_METHOD = "METHODS = 1; do for [i = 1:CURVES] { \
    if (!is_theirs(i) && CURVE_STYLE[i] != CURVE_STYLE[1]) { METHODS = 2 } }; \
    if (METHODS == 1) { OWN = CURVE_STYLE[1]; \
    do for [i = 1:CURVES] { if (!is_theirs(i)) { TURN = (CURVE_DASH[i] - 1) % STYLES; \
    CURVE_STYLE[i] = TURN == 0 ? OWN : TURN < OWN ? TURN : TURN + 1; \
    CURVE_DASH[i] = (CURVE_DASH[i] - 1) / STYLES + 1 } } }"
before(s, mark) = strstrt(s, mark) ? s[1:strstrt(s, mark) - 1] : s
method(i) = before(before(CURVE_TITLE[i], ' L='), ', ')
tokens(i) = strstrt(CURVE_TITLE[i], \
    ' L=') && CURVE_STYLE[i] == 4 ? CURVE_TITLE[i][strstrt(CURVE_TITLE[i], ' L=') + 3:*] : ''
entry(i) = is_theirs(i) ? (i == PANEL_LAST[1] ? 'the paper' : '') : CURVE_SHADE[i] < 1 ? \
    '' : method(i)
is_shaded(i) = drawn(i) && !is_theirs(i) && entry(i) eq '' && color(i) != COLOR[CURVE_STYLE[i]]
least(a, b) = a < b ? a : b
shown(s) = s eq '' ? 0 : !strstrt('{}_\\', s[1:1]) + shown(s[2:*]) # letters of an enhanced text
# The legend: KEYS, the curves that have an entry; KEY_WIDE, the pixels of the longest, at 7.4 a
# letter; KEY_COLS by KEY_ROWS of them. Key 0 explains the shades.
SHADES_SAID = NARROW ? 'shade: L_{train}' : 'darker: longer L_{train}'
key_entry(i) = i == 0 ? SHADES_SAID : entry(i)
key_color(i) = color(i)
key_mark(i) = mark(i)
LEGEND = "KEYS = ''; KEYS_SAID = '|'; KEY_CHARS = 1; KEY_SHADES = 0; do for [i = 1:CURVES] { \
    KEY_SHADES = KEY_SHADES || is_shaded(i); \
    KEY_SAID = entry(i); if (KEY_SAID ne '' && !strstrt(KEYS_SAID, '|'.KEY_SAID.'|')) { \
    KEYS = KEYS.' '.i; KEYS_SAID = KEYS_SAID.KEY_SAID.'|'; \
    KEY_CHARS = shown(KEY_SAID) > KEY_CHARS ? shown(KEY_SAID) : KEY_CHARS } }; \
    if (KEY_SHADES && KEYS ne '') { KEYS = KEYS.' 0'; \
    KEY_CHARS = shown(SHADES_SAID) > KEY_CHARS ? shown(SHADES_SAID) : KEY_CHARS }; \
    KEYS_N = words(KEYS); KEY_FONT = least(10, 10.0 * (WIDTH - 74) / (7.4 * KEY_CHARS)); \
    KEY_WIDE = 54 + 0.74 * KEY_FONT * KEY_CHARS; \
    KEY_COLS = least(KEY_COLUMNS, int((WIDTH - 16) / KEY_WIDE)); \
    KEY_COLS = KEY_COLS < 1 ? 1 : KEY_COLS; KEY_ROWS = (KEYS_N + KEY_COLS - 1) / KEY_COLS; \
    KEY_COLS = KEY_ROWS ? (KEYS_N + KEY_ROWS - 1) / KEY_ROWS : 1; \
    KEY_LOW = FOOT; FOOT = FOOT + 14 + 20 * KEY_ROWS"
key_x(k, n) = px((WIDTH - KEY_COLS * KEY_WIDE) / 2.0 + (k - 1) % KEY_COLS * KEY_WIDE + 8 + n)
key_y(k) = py(KEY_LOW + 20 * (KEY_ROWS - (k - 1) / KEY_COLS) - 8)
BEGIN = "eval LEGEND; eval START; set multiplot; if (WIDTH_IN == 0) { set label 101 wrap(TITLE, \
    TITLE_CHARS) at screen 0.5,1 - py(18) center font ',12'; set label 102 wrap(FACTS, \
    FACTS_CHARS) at screen 0.5,py(14 * lines(FACTS, FACTS_CHARS)) center \
    font ',9' textcolor rgb '#555555' }"
PANEL = "if (p > 1) { unset label 101; unset label 102 }; if ((p - 1) % COLS) { unset ylabel }; \
    if (TIC_LINES_HIGH) { set xlabel offset 0,-0.9 }; \
    set title PANEL_TITLE[p]; set lmargin at screen ((p - 1) % COLS) * (1 - px(16)) / COLS + \
    px(LEFT); set rmargin at screen ((p - 1) % COLS + 1) * (1 - px(16)) / COLS - px(12); \
    set tmargin at screen 1 - py(HEAD) - (p - 1) / COLS * (1 - py(HEAD + FOOT)) / ROWS - \
    py(PANEL_TITLE[p] eq '' ? 6 : 26); \
    set bmargin at screen 1 - py(HEAD) - ((p - 1) / COLS + 1) * (1 - py(HEAD + FOOT)) / ROWS + \
    py((NARROW && ROWS > 1 ? 70 : 58) + TIC_LINES_HIGH); LABELLED = ''; \
    JOINED = ''; ALONE = ''; LEAVING = ''; \
    do for [i = PANEL_FIRST[p]:PANEL_LAST[p]] { \
    if (drawn(i) && lined(i)) { JOINED = JOINED.' '.i }; \
    if (drawn(i) && !lined(i)) { ALONE = ALONE.' '.i }; \
    if (drawn(i) && exists('y_top') && CURVE_Y_MAX[i] > y_top) { LEAVING = LEAVING.' '.i }; \
    if (tokens(i) ne '') { \
    LABELLED = LABELLED.' '.i } }"
CURVES_OF_PANEL = 'for [i = PANEL_FIRST[p]:PANEL_LAST[p]] DATA index (i - 1) '
BANDS = SEEDS < 2 ? 'NaN notitle' : CURVES_OF_PANEL.'using 1:(drawn(i) ? $2 - $3 : NaN):($2 + $3) \
    with filledcurves fillstyle transparent solid BAND noborder fillcolor rgb color(i) notitle'
# A word of a list of curves. gnuplot reads a plot command once even for an empty list.
nth(i) = i eq '' ? 1 : int(i)
mark_x = 0; mark_y = 0; mark_run = 0; mark_shown = 0
LINES = 'for [i in JOINED] DATA index (nth(i) - 1) using 1:2 with lines \
    linestyle CURVE_STYLE[nth(i)] linecolor rgb color(nth(i)) dashtype dash(nth(i)) notitle, \
    for [i in JOINED] DATA index (nth(i) - 1) using (mark_shown = $0 == 0 || \
    column(-1) != mark_run || apart($1, $2), mark_run = column(-1), \
    mark_x = mark_shown ? frame_x($1) : mark_x, mark_y = mark_shown ? frame_y($2) : mark_y, \
    mark_shown ? $1 : NaN):2 with points linestyle CURVE_STYLE[nth(i)] \
    linecolor rgb color(nth(i)) pointtype mark(nth(i)) notitle, \
    for [i in ALONE] DATA index (nth(i) - 1) using 1:2 with points \
    linestyle CURVE_STYLE[nth(i)] linecolor rgb color(nth(i)) pointtype mark(nth(i)) notitle'
between(a, b, t) = a + (b - a) * t
x_is_log = 0
LOG_X = "x_is_log = 1; set logscale x X_BASE > 0 ? X_BASE : 2; between(a, b, t) = a * (b / a)**t"
along(a, b, y) = (y - a) / (b - a)
LOG_Y = "set logscale y; along(a, b, y) = log(y / a) / log(b / a)"
# Pixels from the beginning of a panel to x, about.
frame_x(x) = 0.9 * (WIDTH / COLS - LEFT - 20) * share(x)
share(x) = X_MAX <= X_MIN ? 0.5 : x_is_log ? log(1.0 * x / X_MIN) / log(1.0 * X_MAX / X_MIN) : \
    1.0 * (x - X_MIN) / (X_MAX - X_MIN)
frame_y(y) = exists('y_low') && exists('y_top') ? 0.8 * (ROW - 60) * along(y_low, y_top, y) : 0
# True if a mark does not touch the last one, which is at mark_x, mark_y.
apart(x, y) = !exists('y_low') || \
    (frame_x(x) - mark_x)**2 + (frame_y(y) - mark_y)**2 > 11**2
# A tick that would touch the one before it has a second line, beneath it; where that has the paper's
# lengths, the tick is without one, or left out.
paper_length(t) = paper_length_of(t, 1)
paper_length_of(t, i) = i > CURVES || i > 200 ? '' : strstrt(tokens(i), ' (') && tokens(i) + 0 == t ? \
    tokens(i)[strstrt(tokens(i), ' (') + 1:*] : paper_length_of(t, i + 1)
TIC_LINES_HIGH = 0
AT_DATA = "tick_list = ''; tick_end = -1e9; tick_end_2 = -1e9; TIC_LINES_HIGH = 0; \
    do for [t in X_TICS] { \
    tick_text = sprintf('%g', t + 0); tick_at = frame_x(t + 0); \
    tick_half = 4.2 * strlen(tick_text); \
    tick_paper = NARROW ? '' : paper_length(t + 0); tick_half_2 = 3.4 * strlen(tick_paper); \
    tick_fits = tick_at - tick_half > tick_end; \
    tick_low = NARROW && !tick_fits && tick_at - tick_half > tick_end_2; \
    if (tick_fits && tick_paper ne '' && tick_at - tick_half_2 > tick_end_2) { \
    tick_text = tick_text.'\\n{/*0.8 '.tick_paper.'}'; tick_end_2 = tick_at + tick_half_2 + 2; \
    TIC_LINES_HIGH = 14 }; \
    if (tick_low) { tick_text = '\\n'.tick_text; tick_end_2 = tick_at + tick_half + 4; \
    TIC_LINES_HIGH = 14 }; \
    if (tick_fits) { tick_end = tick_at + tick_half + 4 }; \
    if (tick_fits || tick_low) { tick_list = tick_list.(tick_list eq '' ? '' : ','). \
    sprintf('\"%s\" %.10g', tick_text, t + 0) } }; \
    ROW = ROW + TIC_LINES_HIGH; if (tick_list ne '') { eval 'set xtics ('.tick_list.')' }"
x_was = 0; y_was = 0; is_off = 0; x_off = NaN
OFF = 'for [i in LEAVING] DATA index (nth(i) - 1) using (is_off = $0 == 0 ? 0 : is_off, \
    x_off = is_off || !($2 > y_top) ? NaN : $0 == 0 ? $1 : between(x_was, $1, \
    along(y_was, $2, y_top)), is_off = is_off || $2 > y_top, x_was = $1, y_was = $2, \
    x_off):(y_top) with points pointtype 9 pointsize 1 linecolor rgb color(nth(i)) notitle'
LABELS = 'for [i in LABELLED] DATA index (nth(i) - 1) every ::0:0:0:0 \
    using 1:(y_low):(0):($2 - y_low) with vectors nohead linewidth 1 dashtype 3 \
    linecolor rgb color(nth(i)) notitle'
FLOOR_LINE = "if (FLOOR > y_low && FLOOR < y_top) { set arrow 1 from graph 0, \
    first FLOOR to graph 1, first FLOOR nohead dt 3 lc rgb '#555555'; \
    set label 3 gprintf('floor of the text: %.2f', FLOOR) at graph 0.99, \
    first FLOOR right offset 0,-0.7 font ',9' textcolor rgb '#555555' }"
END = "unset title; unset xlabel; unset ylabel; unset tics; unset border; unset grid; \
    unset label; unset arrow; unset logscale; set lmargin at screen 0; set rmargin at screen 1; \
    set bmargin at screen 0; set tmargin at screen 1; set xrange [0:1]; set yrange [0:1]; \
    do for [k = 1:KEYS_N] { i = int(word(KEYS, k)); if (i == 0) { do for [j = 0:2] { \
    set label 1000 + j '' at screen key_x(k, 3 + 12 * j),key_y(k) point pointtype 7 \
    pointsize 0.6 linecolor rgb tint(0x444444, 0.5 * j) } } else { if (lined(i)) { \
    set arrow k from screen key_x(k, 0),key_y(k) to screen key_x(k, 30),key_y(k) nohead \
    linestyle CURVE_STYLE[i] linecolor rgb key_color(i) dashtype dash(i) }; \
    set label 2 * k '' at screen key_x(k, 15),key_y(k) point linestyle CURVE_STYLE[i] \
    pointtype key_mark(i) linecolor rgb key_color(i) }; \
    set label 2 * k + 1 key_entry(i) at screen key_x(k, 38),key_y(k) left \
    font sprintf(',%.1f', KEY_FONT) \
    }; plot 2 notitle; unset multiplot"

# What a plot.gp of a user may have from an earlier version.
shade(style, s) = style > 100 ? 0x888888 : tint(COLOR[style], s)
blue(s) = shade(4, s)
orange(s) = shade(1, s)
name(style, s, text) = style < 100 ? text : style == 104 && s == 1 ? 'the paper' : ''
FRAME = "set tmargin 3.5; set bmargin 5.5; set key outside right center vertical; \
    set label 101 wrap(TITLE, 130) at screen 0.5,0.965 center font ',12'; \
    set label 102 wrap(FACTS, 150) at screen 0.5,0.02 center font ',9' textcolor rgb '#555555'"
