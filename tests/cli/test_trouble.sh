#!/bin/sh
# test_trouble.sh - what a user reads, and the exit status, when a training diverged, its checkpoint or log is gone, or its
# last record was cut off.
# usage: tests/cli/test_trouble.sh BUILD
. tests/cli/expect.sh

tiny_project
mkdir other
tiny_grid g <<'Y'
title: "Two learning rates"
grid:
  - { position: alibi, L_train: 16 }
evaluate:
  - { split: valid, window: nonoverlapping, L_valid: [16, 32], targets: 128 }
Y

# A training that diverges, in the first and in later calls, with the advice that fits its clipping.
diverge="--set train.lr=1000 --set train.updates=30 --set train.period=29 --set train.clip=0"
expect 65 "1 run diverged and is not retried" "$alibi" run g/ --devices cpu:1 $diverge
grep -q "a lower train.lr or a train.clip (it is 0: off) may help" "$dir/out" || { fail "advice without clipping"; cat "$dir/out"; }
grep -q "0 done now, 0 before, 1 diverged, 2 not started" "$dir/out" || { fail "the summary"; cat "$dir/out"; }
expect 65 "nothing to start, 0 runs are done, 1 diverged" "$alibi" run g/ --devices cpu:1 $diverge
expect 0 "nothing to start, 0 runs are done, 1 diverged" "$alibi" run g/ --devices cpu:1 --keep-going $diverge

# The folder of a training is gone: nothing starts, and plan says it before.
expect 0 "3 done now" "$alibi" run g/ --devices cpu:1
run=$("$alibi" query "SELECT run_id FROM trainings" --format csv | tail -n 1 | tr -d '\r')
evaluation=$("$alibi" query "SELECT run_id FROM evaluations WHERE L_valid = 16" --format csv | tail -n 1 | tr -d '\r')
cp -r runs "$dir/runs"
rm -r "runs/$run"
expect 0 "done$" "$alibi" plan g/
sed -i 's/L_valid: \[16, 32\]/L_valid: [16, 32, 48, 64]/' g/grid.yaml
expect 0 "done, but its checkpoint is gone$" "$alibi" plan g/ -a
grep -q "^note: the checkpoint of training $run is gone (runs/$run/1/.*); .alibi run. with --redo trains it again$" "$dir/out" ||
    { fail "the note of plan"; cat "$dir/out"; }
grep -q "cannot run: the checkpoint of its training is gone$" "$dir/out" || { fail "evaluations in plan -a"; cat "$dir/out"; }
expect 66 "the checkpoint of training $run is gone (runs/$run/1/.*); .alibi run. with --redo trains it again" "$alibi" run g/ --devices cpu:1
grep -q "started\|retried" "$dir/out" && { fail "an evaluation without a checkpoint was started"; cat "$dir/out"; }
expect 66 "is gone" "$alibi" run g/ --devices cpu:1 --redo-evaluations
expect 0 "^2$" "$alibi" query "SELECT count(*) FROM evaluations" --format csv
expect 66 "run $run: its log is gone: runs/$run/1/log" "$alibi" logs "$run"
expect 0 "5 done now" "$alibi" run g/ --devices cpu:1 --redo

# The last record of an attempt is cut off: results.db ends logs --follow.
expect 0 "^ended: done$" timeout 20 "$alibi" logs "$run" --follow
truncate -s -20 "runs/$run/2/events"
expect 0 "^ended: done (no last record)$" timeout 20 "$alibi" logs "$run" --follow
expect 0 "trained 6 updates" "$alibi" logs "$run"
grep -q "ended" "$dir/out" && { fail "logs without --follow"; cat "$dir/out"; }
expect 0 "evaluated $evaluation" "$alibi" logs "$evaluation"

# Claims are judged at one scale.
sed 's/scale: none/scale: paper/' g/grid.yaml >other/grid.yaml
expect 64 "g is of scale none and other of scale paper; judge them one by one, or all with --scale" "$alibi" claims g/ other/
expect 0 "" "$alibi" claims g/ other/ --scale none
expect 0 "scale mini" "$alibi" claims
finish
