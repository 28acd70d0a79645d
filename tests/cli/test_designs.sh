#!/bin/sh
# test_designs.sh - designs that measure nothing, and words that mean something else, are named before work begins: golden/designs.txt
# has the mistakes and the answers.
# usage: tests/cli/test_designs.sh BUILD
. tests/cli/expect.sh

tiny_project
grid() { # NAME SED: a folder with a grid, of which sed changes lines
    tiny_grid "$1" <<'Y'
title: "Two rates"
grid:
  - { position: alibi, L_train: 16, train.lr: [0.25, 0.5] }
evaluate:
  - { split: valid, window: nonoverlapping, L_valid: [16, 32], targets: 128 }
Y
    sed -i "$2" "$1/grid.yaml"
}
notes() { "$alibi" "$@" 2>&1 | grep '^note'; }

grid good ""
grid warm "s/warmup: 1,/warmup: 4000,/"
grid long "s/L_valid: .16, 32./L_valid: [16, 2560000]/"
grid trains "/^evaluate/,\$d"
grid copies "s/L_valid: .16, 32./L_valid: [16, 32], eval.attention_window: [0, 16, 64], eval.position_scaling: [none, slopes]/"
grid colon 's/^title.*/title: Rates: two/'
grid twice "s/^scale/seed: [1, 2, 1]\nscale/"
grid absolute "s#data/tiny.yaml#$PWD/data/tiny.yaml#"
grid nowhere "s#data/tiny.yaml#/nowhere/tiny.yaml#"
mkdir model
expect 0 "0 to do\|6 to do" "$alibi" plan ./absolute/
expect 0 "2 done now" "$alibi" run ./trains/ --devices cpu:1
transcript designs.txt

# What a note says is true: the same number, to the last bit.
expect 0 "26 done now" "$alibi" run ./copies/ --devices cpu:1 --redo
expect 0 "^1$" "$alibi" query "SELECT max(n) FROM (SELECT count(DISTINCT loss_nats) AS n FROM evaluations WHERE L_valid = 16 GROUP BY train_run_id)" --format csv

# Curves of one method: a colour for each combination of settings, one entry for curves that coincide, and the length counts.
if command -v gnuplot >/dev/null 2>&1; then
    expect 0 "Figure: " "$alibi" report ./copies/
    entries=$(grep -c '>ALiBi lr=' plots/copies-none.svg)
    colours=$(sed -n '/gnuplot_plot_1/,$p' plots/copies-none.svg | grep -o "stroke='rgb([^)]*)'" | sort -u | grep -vcE 'rgb\( *(68|221|0), *(68|221|0), *(68|221|0)\)')
    [ "$entries" -eq 8 ] || fail "$entries entries for 8 curves that differ of 12"
    [ "$colours" -ge 8 ] || fail "$colours colours for 8 curves"
    expect 0 ">ALiBi lr=0.25 (= attention_window=64)<" grep "attention_window=64" plots/copies-none.svg
    expect 0 "Figure: " "$alibi" report ./copies/ --x train.lr
    [ "$(grep -c "^CURVE_TITLE.*= 'ALiBi L_" plots/copies-none-by-train.lr.gp)" -eq 2 ] || fail "curves of two lengths"
    [ "$(grep '^CURVE_DASH' plots/copies-none-by-train.lr.gp | sed 's/.*= //' | sort -u | wc -l)" -eq 12 ] || fail "L_valid does not count for the style"

    # Losses may be averaged, and the axis ends with the last update.
    expect 0 "done now" "$alibi" run ./good/ --devices cpu:1 --only train.lr=0.25 --set train.updates=41 --set train.period=40
    run=$("$alibi" query "SELECT run_id FROM trainings WHERE updates = 41" --format csv | tail -1 | tr -d '\r')
    mean=$("$alibi" query "SELECT avg(loss_nats) AS mean FROM curves WHERE run_id = '$run' AND split = 'train' AND step BETWEEN 22 AND 41" --format csv | tail -1 | tr -d '\r')
    expect 0 "curves-.*svg" "$alibi" curves "$run" --smooth 20
    [ "$(sed -n "s/^41 //p" plots/curves-*.dat | head -1 | cut -c1-9)" = "$(echo "$mean" | cut -c1-9)" ] || fail "the mean of 20 updates is not $mean"
    expect 0 "means of 20 updates" cat plots/curves-*.svg
    grep -q '> *40<' plots/curves-*.svg || fail "no tick at 40"
    grep -q '> *45<' plots/curves-*.svg && fail "an axis to 45 for 41 updates"
fi

# An artefact of a collection has its own target of make.
cd "$source" || exit 1
expect 0 "alibi run explore/methods --scale mini" make -n NVCC= reproduce-explore/methods SCALE=mini
expect 0 "alibi report table5 *$" make -n NVCC= reproduce-table5
finish
