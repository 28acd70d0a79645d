#!/bin/sh
# test_examples.sh - the Python and R examples of experiments/README.md run, on a grid of one's own whose trainings differ in a
# setting: no number of theirs is a mean over two models. Reported as skipped with neither pandas nor RSQLite.
# usage: tests/cli/test_examples.sh BUILD
. tests/cli/expect.sh
readme=$PWD/experiments/README.md
tried=

tiny_project
tiny_grid mygrid <<'Y'
artefact: mygrid
grid:
  - { position: alibi, L_train: 16, train.lr: [0.25, 0.5] }
evaluate:
  - { split: valid, window: nonoverlapping, L_valid: [16, 32], targets: 128 }
  - { split: valid, window: nonoverlapping, L_valid: 32, targets: 128, eval.attention_window: 8 }
Y
expect 0 "8 done now" "$alibi" run mygrid/ --devices cpu:2
pattern() { # A pattern of the numbers of one row of the example
    "$alibi" query "SELECT printf('%.2f', perplexity) FROM evaluations JOIN settings s USING (run_id)
        WHERE s.key = 'train.lr' AND s.value = '0.5' AND attention_window = $1 ORDER BY L_valid" --format csv |
        tail -n +2 | tr -d '\r' | sed -e 's/0*$//' | tr '\n' ' ' | sed -e 's/ $//' -e 's/ /0* *  */g'
}

example() { # LANGUAGE COMMAND...: runs the language's example, which shows the numbers of each model
    tried="$tried $1"
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$readme" | sed -e '/^```/d' >"$dir/example.$1"
    shift
    expect 0 "$(pattern 0)" "$@"
    expect 0 "train.lr=0.5 eval.attention_window=8 .*$(pattern 8)" "$@"
}

# A flat table needs no join: a column for each setting.
expect 0 "^L_valid,run_id,eval.attention_window,train.lr" "$alibi" query --wide --format csv "SELECT L_valid, run_id FROM evaluations"
[ "$(grep -cE "^(16,[0-9a-f]{16},0|32,[0-9a-f]{16},[08]),0.(25|5)" "$dir/out")" -eq 6 ] || { fail "the flat table"; cat "$dir/out"; }
expect 0 "all_settings,.*,train.lr" "$alibi" query --wide --format csv
expect 64 "have no column run_id" "$alibi" query --wide "SELECT 1"
expect 64 "expected a SELECT" "$alibi" query
expect 64 "cannot be combined" "$alibi" query --views --wide
expect 0 "^artefact_points,2,scale" "$alibi" query --views --format csv
expect 0 "^  in trainings, attempts, progress" "$alibi" query --views ranks
expect 64 "no view and no column is named" "$alibi" query --views rank
mkdir ../bare # without results.db the views are explained, and nothing is made
expect 0 "^  in trainings, attempts, progress" "$alibi" query --views ranks --project ../bare
expect 66 "results.db not found; run" "$alibi" query "SELECT 1" --project ../bare
expect 66 "none.db not found" "$alibi" query --views --db none.db
[ -z "$(ls -A ../bare)" ] || fail "query left files: $(ls -A ../bare)"

for python in python3 /usr/bin/python3; do
    "$python" -c "import pandas" 2>/dev/null || continue
    example python "$python" "$dir/example.python"
    break
done
if Rscript --vanilla -e "library(RSQLite)" 2>/dev/null; then
    example r Rscript --vanilla "$dir/example.r"
fi
if [ -z "$tried" ]; then
    echo "neither python3-pandas nor r-cran-rsqlite is installed: the examples were not run"
    exit 77
fi
finish
