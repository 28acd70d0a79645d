#!/bin/sh
# test_continued.sh - a grid whose trainings continue others: plan, run, show, logs, verify, merge.
# usage: tests/cli/test_continued.sh BUILD
. tests/cli/expect.sh
fixtures=$PWD/tests/fixtures/checkpoints

mkdir -p "$dir/project/g" "$dir/other"
cd "$dir/project" || exit 1
cat >g/grid.yaml <<'Y'
title: "Continued"
scale: none
base: [data/tiny.yaml]
set:
  model: { layers: 1, dim: 32, heads: 4, ffn: 64, softmax: plain, final_norm: true }
  train: { shard_tokens: 256, updates: 8, lr: 0.5, warmup: 2, period: 6, clip: 0.1, momentum: 0.9, seed: 1 }
grid:
  - { position: rotary, L_train: 16, train.updates: 4 }
  - { position: [rotary, t5], L_train: 32, from: { position: rotary, L_train: 16 } }
  - { position: rotary, L_train: 32 }
evaluate:
  - { L_valid: 32, targets: 128 }
Y
ids() { "$alibi" query "SELECT run_id, config_id FROM run_list ORDER BY run_id" --format csv; }
run_of() { # POSITION: of the training that continues another one
    "$alibi" query "SELECT run_id FROM trainings JOIN settings USING (run_id)
        WHERE position = '$1' AND key = 'train.from'" --format csv | tail -1
}
expect 0 "208 words" "$alibi" data prepare tiny --text "$fixtures/text"
expect 0 "4 trainings, 4 evaluations: 0 done" "$alibi" plan g/
expect 0 "8 done now" "$alibi" run g/ --devices cpu:2
expect 0 "train.from=none" "$alibi" report g/ --no-figure
grep -q "train.from=rotary:16:4" "$dir/out" || fail "the report does not name the parent"

child=$(run_of t5)
parent=$("$alibi" query "SELECT value FROM settings WHERE run_id = '$child' AND key = 'train.from'" --format csv | tail -1)
expect 0 "^continues$" "$alibi" show "$child"
expect 0 "^continued by$" "$alibi" show "$parent"
grep -q "run_id  *$child" "$dir/out" || fail "show does not name the child"
expect 0 "continues run $parent after update 4, fresh: decoder.relative_attention_bias" "$alibi" logs "$child"
expect 0 "first 2 updates reproduced: 3 records agree" "$alibi" verify "$child" --updates 2

# results.db from the records alone has the same ids of runs and configurations.
ids >"$dir/before"
cd "$dir/other" && expect 0 "ingested" "$alibi" merge "$dir/project/runs"
ids >"$dir/after"
cmp "$dir/before" "$dir/after" || fail "merge gives other ids"
cd "$dir/project" || exit 1

# A parent that kept no optimiser state is refused, and the evaluation of the child does not start.
rm "runs/$parent"/1/*.state.safetensors
mkdir h && sed -e '/L_train: 32 }$/d' -e 's/L_train: 32, from/L_train: 64, from/' -e 's/\[rotary, t5\]/alibi/' g/grid.yaml >h/grid.yaml
expect 70 "was not kept; train the parent again" "$alibi" run h/ --tries 1
grep -q "not started: 1 evaluation of" "$dir/out" || { fail "the evaluation of the child was not held back"; cat "$dir/out"; }
finish
