#!/bin/sh
# test_continued.sh - a grid whose trainings continue others: plan, run, show, logs, verify, merge.
# usage: tests/cli/test_continued.sh BUILD
. tests/cli/expect.sh

mkdir "$dir/other"
tiny_project
tiny_grid g "shard_tokens: 256, updates: 8, lr: 0.5, warmup: 2, period: 6" <<'Y'
title: "Continued"
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
expect 0 "4 trainings, 4 evaluations: 0 done" "$alibi" plan g/
expect 0 "8 done now" "$alibi" run g/ --devices cpu:2
expect 0 " from=none" "$alibi" report g/ --no-figure
grep -q " from=rotary:16:4" "$dir/out" || fail "the report does not name the parent"

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
expect 66 "was not kept; train the parent again" "$alibi" run h/ --tries 1
grep -q "not started: 1 evaluation of" "$dir/out" || { fail "the evaluation of the child was not held back"; cat "$dir/out"; }
# A parent that diverged: its children, and theirs, do not start, and nothing else waits for them.
mkdir d
sed -e '/^grid:/,$d' g/grid.yaml >d/grid.yaml
cat >>d/grid.yaml <<'Y'
grid:
  - { position: rotary, L_train: 16, train.updates: 4, train.lr: [0.5, 1000], train.clip: 0 }
  - { position: rotary, L_train: 32, train.lr: 0.5, from: { L_train: 16, train.lr: 0.5 } }
  - { position: rotary, L_train: 32, train.lr: 0.4, from: { L_train: 16, train.lr: 1000 } }
  - { position: rotary, L_train: 64, train.updates: 10, from: { L_train: 32, train.lr: 0.4 } }
evaluate:
  - { L_valid: 32, targets: 128 }
Y
expect 65 "not started: 1 evaluation of and 1 training that continues train rotary L=16 seed 1 (run [0-9a-f]*), which diverged" \
    "$alibi" run d/ --devices cpu:2
grep -q "4 done now, 0 before, 1 diverged, 5 not started" "$dir/out" || { fail "d/: other counts"; cat "$dir/out"; }
expect 0 "" "$alibi" plan d/
[ "$(grep -c "cannot run: [0-9a-f]* diverged" "$dir/out")" = 2 ] || { fail "the plan does not say which trainings cannot run"; cat "$dir/out"; }
expect 0 "3 of 5 results are missing: the training diverged" "$alibi" report d/ --no-figure
expect 65 "0 done now, 4 before, 1 diverged, 5 not started" "$alibi" run d/ --devices cpu:2

# With a parent in its place that does not, the same command goes on to the children.
sed -i 's/train.lr: \[0.5, 1000\]/train.lr: [0.5, 0.25]/; s/train.lr: 1000/train.lr: 0.25/' d/grid.yaml
expect 0 "6 done now, 4 before" "$alibi" run d/ --devices cpu:2

# A worker that is killed in the middle of a child goes on from the child's own checkpoint, with the same bits.
weights() { # of the trainings, by their settings
    "$alibi" query "SELECT L_train, updates, last_sha256 FROM trainings WHERE updates >= 100 ORDER BY L_train" --format csv
}
mkdir k "$dir/killed" && sed -e '/^grid:/,$d' g/grid.yaml >k/grid.yaml && cat >>k/grid.yaml <<'Y'
grid:
  - { position: rotary, L_train: 16, train.updates: 100 }
  - { position: rotary, L_train: 32, train.updates: 3000, train.validate_every: 10, from: { L_train: 16 } }
Y
expect 0 "2 done now" "$alibi" run k/ --devices cpu:1
weights >"$dir/unbroken"
[ "$(wc -l <"$dir/unbroken")" = 3 ] || { fail "not two trainings"; cat "$dir/unbroken"; }
child=$("$alibi" query "SELECT run_id FROM trainings WHERE updates = 3000" --format csv | tail -1)
cp -r k data "$dir/killed" && cd "$dir/killed" || exit 1
"$alibi" run k/ --devices cpu:1 >"$dir/run.out" 2>&1 </dev/null &
scheduler=$!
while ! ls "runs/$child"/1/update-*.state.safetensors >/dev/null 2>&1 && kill -0 $scheduler 2>/dev/null; do :; done
worker=$("$alibi" query "SELECT pid FROM progress WHERE run_id = '$child'" --format csv 2>/dev/null | tail -1)
kill -9 "$worker" || fail "no worker to kill: $(cat "$dir/run.out")"
wait $scheduler || fail "the run after a kill exited $?: $(cat "$dir/run.out")"
grep -q "lost " "$dir/run.out" || { fail "the worker was not killed in time"; cat "$dir/run.out"; }
weights >"$dir/resumed"
cmp "$dir/unbroken" "$dir/resumed" || fail "a killed child ends with other bits"
"$alibi" logs "$child" | grep -q "continues run" && fail "the second attempt starts from the parent again"
cd "$dir/project" || exit 1
finish
