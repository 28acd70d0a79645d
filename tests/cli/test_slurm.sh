#!/bin/sh
# test_slurm.sh - a grid of real trainings through --devices slurm, on the Slurm of tests/scheduler/fake_slurm, gives the
# numbers of local workers bit for bit; a scheduler that is killed in between costs nothing. usage: test_slurm.sh BUILD
. tests/cli/expect.sh
PATH=$(pwd)/tests/scheduler/fake_slurm:$PATH
FAKE_SLURM=$dir/slurm
export PATH FAKE_SLURM
mkdir "$FAKE_SLURM" "$dir/shared" "$dir/disk" "$dir/local" "$dir/grid"
cat >"$dir/grid/grid.yaml" <<'END'
artefact: grid
title: "A small grid"
scale: mini
base: [model/wt103_247m.yaml, data/wikitext103.yaml, train/wikitext103.yaml]
grid:
  - { position: [alibi, t5], L_train: 512 }
evaluate:
  - { split: valid, window: nonoverlapping, L_valid: [512, 1024] }
END
run() { # project devices...
    project=$1
    shift
    "$alibi" run "$dir/grid/" --project "$dir/$project" --devices "$@" --set train.updates=60 --set eval.targets=768
}
numbers() { # project: every number that a computation gives
    "$alibi" query --project "$dir/$1" --format csv "SELECT run_id, perplexity, loss_nats, tokens FROM evaluations UNION ALL
        SELECT run_id, final_loss_nats, NULL, updates FROM trainings ORDER BY 1"
    (cd "$dir/$1" && sha256sum runs/*/*/update-*.safetensors | sed -E 's#/[0-9]+/#/n/#') # whichever attempt
}

expect 0 "16 at a time" "$alibi" devices
expect 64 "requires --devices slurm" run shared cpu:1 --slurm partition=gpu
expect 64 "alibi sets --array" run shared slurm --slurm array=1-3
rm -rf "$dir/shared/results.db"
ln -s ../disk/results.db "$dir/shared/results.db"

# Killed as soon as both trainings are recorded; their jobs continue and the next call recovers them.
run shared slurm:2 --slurm "partition=all time=1:00" >"$dir/first" 2>&1 &
scheduler=$!
until [ "$("$alibi" query --project "$dir/shared" --format csv "SELECT count(*) = 2 FROM attempts" 2>&1 | tail -1)" = 1 ] ||
    ! kill -0 $scheduler; do :; done
program=$(cat "/proc/$scheduler/task/$scheduler/children") # of the shell that runs the function
kill -9 $program
wait $scheduler
expect 0 "done now" run shared slurm:2 --slurm "partition=all time=1:00"
grep -q "resumed\|recovered" "$dir/out" || fail "the jobs of the killed call were not taken over: $(cat "$dir/out")"
[ -L "$dir/shared/results.db" ] || fail "results.db is not a link any more"
[ -s "$dir/disk/results.db" ] || fail "results.db is not on the disk that the link names"
until ! grep -q RUNNING "$FAKE_SLURM"/[0-9]*/state; do :; done # the file `exit` comes a little before Slurm's word
[ "$(cat "$FAKE_SLURM"/[0-9]*/state | sort -u)" = COMPLETED ] || fail "a job did not complete: $(cat "$FAKE_SLURM"/[0-9]*/state)"

expect 0 "done now" run local cpu:1
numbers local >"$dir/of_processes"
numbers shared >"$dir/of_jobs"
[ "$(wc -l <"$dir/of_processes")" -eq 9 ] || fail "numbers are missing: $(cat "$dir/of_processes")"
cmp "$dir/of_processes" "$dir/of_jobs" || fail "jobs and processes differ"
expect 0 "^slurm " "$alibi" query --project "$dir/shared" "SELECT DISTINCT 'slurm ' || state FROM attempts"
finish
