#!/bin/sh
# test_scalings.sh - settings of evaluations (position scaling, window, sinks, checkpoint, split) as axes of a grid: each has its own
# label in plan, report, figure, compare and the views, and no two are averaged.
# usage: tests/cli/test_scalings.sh BUILD
. tests/cli/expect.sh

tiny_project
mkdir h
tiny_grid g <<'Y'
artefact: g
title: "Scalings, windows and sinks"
grid:
  - { position: [alibi, rotary, sinusoidal], L_train: 16 }
evaluate:
  - { split: valid, L_valid: [16, 32], targets: 128 }
  - { where: { position: rotary }, split: valid, L_valid: [32, 64], targets: 128, eval.position_scaling: [pi, yarn], eval.position_scaling_factor: [0, 4] }
  - { where: { position: alibi }, split: valid, L_valid: 32, targets: 128, eval.position_scaling: slopes }
  - { where: { position: [alibi, rotary] }, split: valid, L_valid: 32, targets: 128, eval.attention_window: 8, eval.attention_sinks: [0, 4] }
Y
# The same trainings, evaluated in ways that have columns of their own.
sed -e 's/artefact: g/artefact: h/' -e '/where:/d' -e 's/split: valid, L_valid/split: [valid, test], checkpoint: [best, last], L_valid/' g/grid.yaml >h/grid.yaml
echo '  - { split: valid, window: sliding, stride: [1, 4], L_valid: 16, targets: 128 }' >>h/grid.yaml

query() { "$alibi" query "$1" --format csv | tr -d '\r' | tail -n +2; }

expect 0 "eval.position_scaling=yarn eval.position_scaling_factor=4  *new" "$alibi" plan g/ --all
[ -z "$(awk '$2 == "eval" { $1 = ""; print }' "$dir/out" | sort | uniq -d)" ] || { fail "plan lists different evaluations alike"; cat "$dir/out"; }
expect 0 "22 done now" "$alibi" run g/ --devices cpu:2
expect 0 "done now" "$alibi" run h/ --devices cpu:2

# A table, each number in the row of its settings.
expect 0 "^Sinusoidal " "$alibi" report g/ --no-figure
cp "$dir/out" "$dir/table"
sed 's/[0-9][0-9.]*\.[0-9][0-9]/NUMBER/g' "$dir/table" >"$dir/out" # which differ between instruction sets
golden scalings_table.txt
cell() { # ROW COLUMN: the value of the table
    sed -n "s/^$1  *16  *//p" "$dir/table" | awk -v c="$2" '{ print $c }'
}
for pair in "ALiBi position_scaling=slopes|position = 'alibi' AND position_scaling = 'slopes'" \
    "ALiBi attention_window=8|position = 'alibi' AND attention_window = 8 AND attention_sinks = 0" \
    "ALiBi attention_sinks=4 attention_window=8|position = 'alibi' AND attention_sinks = 4" \
    "Rotary position_scaling=yarn position_scaling_factor=4|position = 'rotary' AND position_scaling = 'yarn' AND position_scaling_factor = 4"; do
    shown=$(cell "${pair%%|*}" 1)
    is=$(query "SELECT printf('%.2f', perplexity) FROM artefact_evaluations WHERE artefact = 'g' AND L_valid = 32 AND ${pair#*|}")
    [ -n "$is" ] && [ "$shown" = "$is" ] || fail "the table has '$shown' for ${pair%%|*}, the view '$is'"
done
expect 0 "^Rotary checkpoint=last " "$alibi" report h/ --no-figure
if command -v gnuplot >/dev/null 2>&1; then
    for artefact in g h; do expect 0 "plots/$artefact-none.svg" "$alibi" report $artefact/; done
    sed 's/\\_/_/g' plots/g-none.gp plots/h-none.gp >"$dir/figures"
    for label in "ALiBi position_scaling=slopes" "Rotary attention_sinks=4 attention_window=8" \
        "Rotary position_scaling=pi position_scaling_factor=4" \
        "ALiBi checkpoint=last split=test" "ALiBi stride=4"; do
        grep -q " = '$label'" "$dir/figures" || fail "no figure has a curve '$label'"
    done
fi

"$alibi" report g/ --format html --out page.html >"$dir/out" 2>&1 || fail "page"
grep -q "rotary, L=16 at 32, valid, nonoverlapping, eval.position_scaling=pi eval.position_scaling_factor=4 (" page.html ||
    fail "the page lists evaluations without their settings"

# A layout without a column of settings does not average, and says which column to name.
mkdir -p bare
sed 's/artefact: g/artefact: bare/' g/grid.yaml >bare/grid.yaml
echo "SELECT * FROM wanted_evaluations WHERE artefact = :artefact AND scale = :scale" >bare/query.sql
table() { printf '%s\n' "title: bare" "rows: $1" "columns: L_valid" "value: perplexity" >bare/table.txt; }
table method
expect 0 "0 done now" "$alibi" run bare/
expect 65 "fall into one cell and differ in eval.attention_sinks, eval.attention_window, eval.position_scaling; name" "$alibi" report bare/
grep -q "rows: or group: of table.txt (settings has those of evaluations)" "$dir/out" || { fail "the remedy is missing"; cat "$dir/out"; }
table "method, settings"
expect 0 "^Rotary  *position_scaling=yarn " "$alibi" report bare/ --no-figure

# A pivot: every evaluation has a cell of its own.
expect 0 "^8,0,1" "$alibi" query "SELECT count(DISTINCT settings), sum(settings IS NULL), max(n) FROM (SELECT settings, count(*) AS n FROM artefact_evaluations
    WHERE artefact = 'g' GROUP BY position, L_train, L_valid, settings)" --format csv
[ "$(query "SELECT max(n) FROM (SELECT count(*) AS n FROM comparison WHERE artefact = 'g' GROUP BY position, L_valid_nominal, settings)")" = 1 ] ||
    fail "comparison does not tell evaluations apart"
[ "$(query "SELECT count(*) FROM (SELECT 1 FROM position_loss GROUP BY position, L_valid, split, protocol, stride, checkpoint, settings, first HAVING count(DISTINCT config_id) > 1)")" = 0 ] ||
    fail "position_loss does not tell evaluations apart"

# compare: what neither filter names agrees, settings of evaluations included.
compare() { "$alibi" compare "$1" "$2" --format csv 2>&1 | tr -d '\r' >"$dir/out"; }
pairs() { grep -c "^none,.*[0-9],[0-9].*,[0-9a-f]\{16\},[0-9a-f]\{16\}," "$dir/out"; }
compare "position=alibi,L_valid=32,split=valid,protocol=nonoverlapping,checkpoint=best" "position=rotary,L_valid=32"
[ "$(pairs)" = 3 ] || { fail "compare pairs other than plain, window, sinks"; cat "$dir/out"; }
grep -q "not compared: B has eval.position_scaling none, this one slopes" "$dir/out" || { fail "compare does not say what keeps slopes apart"; cat "$dir/out"; }
compare position=alibi,eval.position_scaling=slopes position=rotary,eval.position_scaling=pi
[ "$(pairs)" = 1 ] && grep -q "eval.position_scaling=slopes|pi" "$dir/out" || { fail "compare does not take settings of evaluations"; cat "$dir/out"; }
compare position=alibi,L_valid=32,eval.position_scaling=none,eval.attention_window=0 position=alibi,eval.position_scaling=slopes
[ "$(pairs)" = 1 ] || { fail "compare does not take neutral values"; cat "$dir/out"; }
run=$(query "SELECT run_id FROM evaluations WHERE position_scaling = 'slopes'")
compare "$run" position=rotary,eval.position_scaling=yarn,eval.position_scaling_factor=0,L_valid=32
[ "$(pairs)" = 1 ] || { fail "the id of an evaluation does not free its settings"; cat "$dir/out"; }
expect 66 "no evaluation has eval.attention_window=9; values in results.db: 0, 8" "$alibi" compare eval.attention_window=9 position=rotary
expect 64 "did you mean 'eval.position_scaling'" "$alibi" compare position_scaling=pi position=rotary

finish
