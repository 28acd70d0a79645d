#!/bin/sh
# test_question.sh - the grid of experiments/README.md plans as many runs as the text says, and becomes the tables, the figure and the
# LaTeX of its steps.
# usage: tests/cli/test_question.sh BUILD
. tests/cli/expect.sh

cd "$dir" || exit 1
block() { # DOCUMENT BEGIN: the fenced block that begins with this line, without fence and indentation
    awk -v begin="$2" '
        /^ *```/ { if (wanted) exit; inside = !inside; first = inside; next }
        inside && first { wanted = index($0, begin) > 0; margin = match($0, /[^ ]/); first = 0 }
        wanted { print substr($0, margin) }' "$source/$1"
}

# A text with as many words as the bands of words_small need.
mkdir text slopes
awk 'BEGIN { for (i = 0; i < 12000; i++) print "the word" i, "and the word" (i * 7) % 50 }' >text/train.txt
tail -n 400 text/train.txt >text/valid.txt
cp text/valid.txt text/test.txt
expect 0 "data/mytext.yaml" alibi data prepare mytext --text ./text

block experiments/README.md 'title: "' >slopes/grid.yaml
expect 0 "9 trainings, 66 evaluations: 0 done, 75 to do" alibi plan ./slopes/
grep -q "the 9 trainings and 66 evaluations" "$source/experiments/README.md" || fail "experiments/README.md has other numbers"

# Short trainings of one seed.
block experiments/README.md 'title: "' | sed 's/, seed: .1, 2, 3.//' >slopes/grid.yaml
echo "set: { train: { updates: 4, warmup: 1, period: 3 }, eval: { targets: 256 } }" >>slopes/grid.yaml
expect 0 "25 done now" alibi run ./slopes/ --devices cpu:1
# Rows and curves have short names of settings and are in the order of the grid; programs read the full keys.
cat >names <<'Y'
ALiBi alibi_bias_max=4
ALiBi alibi_bias_max=4 attention_window=64
ALiBi alibi_bias_max=4 position_scaling=slopes
ALiBi alibi_bias_max=8
ALiBi alibi_bias_max=8 attention_window=64
ALiBi alibi_bias_max=8 position_scaling=slopes
Rotary
Rotary attention_window=64
Y
curves() { sed -n "s/^CURVE_TITLE\[[0-9]*\] = '\(.*\)'$/\1/p" plots/slopes-none.gp | tr -d '\\'; }
alibi report ./slopes/ >out
grep '^\(ALiBi\|Rotary\)' out | sed 's/   .*//' | diff names - || fail "names of the rows"
if command -v gnuplot >/dev/null; then curves | diff names - || fail "names of the curves"; fi
expect 0 "ALiBi model.alibi_bias_max=4 eval.attention_window=64" alibi report ./slopes/ --no-figure --format csv

# Names of one's own.
block experiments/README.md "use:     " >slopes/table.txt
expect 0 "^ALiBi steep  *[0-9.]*  *[0-9.]*  *[0-9.]*$" alibi report ./slopes/ --no-figure
expect 0 "^window 64$" alibi report ./slopes/ --no-figure
expect 0 "caption{Slopes and windows on longer rows.* (window 64; " alibi report ./slopes/ --format latex --table-only
expect 0 "^ALiBi flat scaled & " alibi report ./slopes/ --format latex --table-only
if command -v gnuplot >/dev/null; then
    expect 0 "slopes-none.svg" alibi report ./slopes/
    expect 0 "" alibi report ./slopes/ --width 3.3in
    for figure in slopes-none.svg slopes-none-3.3in.pdf; do
        [ -s "plots/$figure" ] || fail "no plots/$figure"
    done
    [ "$(curves | tr '\n' ,)" = "ALiBi steep,ALiBi steep scaled,ALiBi flat,ALiBi flat scaled,Rotary,ALiBi steep,ALiBi flat,Rotary," ] ||
        fail "curves: $(curves)"
    for title in "no window" "window 64"; do expect 0 "" grep -q ">$title<" plots/slopes-none.svg; done
fi
expect 0 "<td>ALiBi steep</td>" alibi report ./slopes/ --format html
expect 0 "^ALiBi steep window 64  " alibi report ./slopes/ --x L_valid --no-figure

# A label that no row shows is reported, one of an unknown setting is an error.
echo "label: eval.attention_window=65 | far" >>slopes/table.txt
expect 0 "table.txt:[0-9]*: label: no row shows eval.attention_window=65; did you mean '64'" alibi report ./slopes/ --no-figure
sed -i 's/attention_window=65/atention_window=64/' slopes/table.txt
expect 65 "table.txt:[0-9]*: label: eval.atention_window is neither a setting nor a column of .*; did you mean 'eval.attention_window'" alibi report ./slopes/
finish
