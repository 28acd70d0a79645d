#!/bin/sh
# test_lost_ranks.sh - a training by several processes, of which one is killed, or all are stopped: its weights are those of one process.
# usage: tests/cli/test_lost_ranks.sh BUILD
. tests/cli/expect.sh

tiny_project
tiny_grid g "shard_tokens: 32, shards: 4, updates: 6000, lr: 0.1, warmup: 1, period: 5999" <<'Y'
title: "Ranks"
grid:
  - { position: alibi, L_train: 16 }
evaluate:
  - { split: valid, window: nonoverlapping, L_valid: [16, 32], targets: 128 }
Y

# The SHA-256 of a file is a column of the view.
weights() {
    "$alibi" query "SELECT best_sha256, last_sha256 FROM trainings" --format csv | tail -n 1
}

# same WHAT RANKS: the current training has the weights of one process, and its attempt had so many.
same() {
    [ "$(weights)" = "$one" ] || fail "$1: $(weights), of one process: $one"
    expect 0 "^$2$" "$alibi" query "SELECT ranks FROM attempts WHERE current_result AND run_id = '$run'" --format csv
}

expect 0 "3 done now" "$alibi" run g/ --devices cpu:2
one=$(weights)
run=$("$alibi" query "SELECT run_id FROM trainings" --format csv | tail -n 1 | tr -d '\r')
expect 0 "nothing to start, 3 runs are done" "$alibi" run g/ --devices cpu:2 --ranks 2
expect 0 "2 ranks a training" "$alibi" run g/ --devices cpu:2 --ranks 2 --redo
grep -q "started  train alibi L=16 seed 1  runs/$run/2  (2 ranks)$" "$dir/out" || { fail "the line of a start"; cat "$dir/out"; }
[ -e "runs/$run/2/log.1" ] || fail "rank 1 has no log"
same "2 ranks" 2
expect 0 "3 done now" "$alibi" run g/ --devices cpu:4 --ranks 4 --redo
same "4 ranks" 4
expect 0 "^started on .* (cpu), 4 ranks, host " "$alibi" logs "$run"

# Waits for a process of an attempt; $found is its number.
find_rank() { # ATTEMPT RANK
    for _ in $(seq 600); do
        for file in /proc/[0-9]*/cmdline; do
            { tr '\0' ' ' <"$file" | grep -q -- "worker runs/$run/$1 .*--rank $2 "; } 2>"$dir/err" || continue
            found=${file#/proc/}
            found=${found%/cmdline}
            return
        done
        sleep 0.1
    done
    fail "rank $2 of attempt $1 did not start"
    found=
}

# Waits until the training has made some updates.
await_progress() { # ATTEMPT
    for _ in $(seq 600); do
        [ -n "$("$alibi" query "SELECT 1 FROM progress WHERE attempt = $1 AND done > 0" --format csv | tail -n +2)" ] && return
        sleep 0.1
    done
    fail "attempt $1 has no progress"
}

# A rank is killed: the attempt is lost, with the rank and its log in the message, and the next one has the same weights.
"$alibi" run g/ --devices cpu:2 --ranks 2 --redo >"$dir/out" 2>&1 </dev/null &
call=$!
find_rank 4 1
await_progress 4
kill -9 "$found"
wait "$call" || fail "the call after a lost rank ended with $?"
grep -q "^lost .* rank 1 was killed by signal 9 (Killed); will be retried (runs/$run/4/log.1)$" "$dir/out" || { fail "the line of a lost rank"; cat "$dir/out"; }
same "after a lost rank" 2
expect 0 "rank 1 on .*, cpu: connection lost" cat "runs/$run/4/log"

# Ctrl-C, and a resume by one process.
"$alibi" run g/ --devices cpu:2 --ranks 2 --redo >"$dir/out" 2>&1 </dev/null &
call=$!
find_rank 6 1
await_progress 6
kill -INT "$call"
wait "$call"
[ $? -eq 130 ] || { fail "a stopped call"; cat "$dir/out"; }
grep -q "stopping: 1 worker will write a checkpoint after the current update (Ctrl-C" "$dir/out" || { fail "no announcement of a checkpoint"; cat "$dir/out"; }
expect 0 "cancelled,130" "$alibi" query "SELECT state, exit_code FROM attempts WHERE run_id = '$run' AND attempt = 6" --format csv
expect 0 "3 done now" "$alibi" run g/ --devices cpu:2
same "begun by two processes, ended by one" 1
expect 0 "resum" "$alibi" logs "$run"
finish
