#!/bin/bash
# run.sh - disturbs a running grid in every way it knows and compares what comes out with an
# undisturbed run. usage: tests/faults/run.sh BUILD
# FAULTS=full: ten times as many; SEED=N: the moments of an earlier call; GRID=table5: another grid
#
#   injected  disturbances that struck while the program ran
#   lost      results that were reported once and are gone or changed, or missing at the end
#   wrong     results that differ from the undisturbed run in anything but times (the hash of the
#             weights included), current twice, or left over processes
#
# After each disturbance the same command goes on, until it ends by itself with 0.
set -u
export LC_ALL=C
here=$(dirname "$(realpath "$0")")
alibi=$(realpath "$1")/alibi
grid=${GRID:-$here/grid}
seed=${SEED:-$(date +%s)}
RANDOM=$seed
times=1
[ "${FAULTS:-}" = full ] && times=10
devices=cpu:2
# Short trainings with several checkpoints each.
sets=(--set train.updates=40 --set train.warmup=4 --set train.period=36
    --set train.validate_every=10 --set eval.targets=256)
base=$(mktemp -d "${TMPDIR:-/tmp}/alibi-faults-XXXXXX")
base=$(realpath "$base")
failures=0
resumed=0

finish() {
    for p in $(workers_of "$base"); do kill -9 "$p" 2>/dev/null; done
    rm -rf "$base"
}
trap finish EXIT

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# Processes whose mark says that they work in a project under $1.
workers_of() {
    for environ in /proc/[0-9]*/environ; do
        if grep -qzs "^ALIBI_ATTEMPT=$1/" "$environ" 2>/dev/null; then
            pid=${environ#/proc/}
            echo "${pid%/environ}"
        fi
    done
}

# No worker may be left; one that is being killed has 5 s.
orphans_of() {
    for _ in $(seq 50); do
        left=$(workers_of "$1")
        [ -z "$left" ] && return 0
        sleep 0.1
    done
    echo "a worker outlived its scheduler by 5 s: $left"
    return 1
}

new_project() {
    project=$base/$1
    mkdir -p "$project"
    ln -s "$base/reference/data" "$project/data"
    : >"$project/seen"
}

wrap=() # what start puts before the program
start() { # in the background; $pid
    "${wrap[@]}" "$alibi" run "$grid" "${sets[@]}" --devices "$devices" --project "$project" \
        >>"$project/out" 2>&1 </dev/null &
    pid=$!
}

results() {
    "$alibi" query --project "$1" --format csv "SELECT run_id, train_run_id, config_id, scale,
        dataset, position, L_train, L_valid, split, protocol, stride, first_window, precision, seed,
        perplexity, loss_nats, tokens, nonfinite, checkpoint_sha256 FROM evaluations
        UNION ALL SELECT run_id, '', config_id, scale, dataset, position, L_train, 0, '', '', 0, '',
        '', seed, 0, final_loss_nats, updates, 0, '' FROM trainings" 2>>"$project/out" | tr -d '\r' | sort
}

# What was reported before must still be there, unchanged.
still_there() {
    [ -f "$project/results.db" ] || return 0
    results "$project" >"$project/now"
    gone=$(comm -23 "$project/seen" "$project/now" | wc -l)
    lost=$((lost + gone))
    [ "$gone" -gt 0 ] && say "$gone results that were reported are gone or changed"
    mv "$project/now" "$project/seen"
}

say() { echo "    $name: $*"; }

# Everything an undisturbed run has, nothing else, nothing twice, nothing left running.
compare() {
    results "$project" >"$project/now"
    missing=$(comm -23 <(cut -d, -f1 "$base/expected" | sort) <(cut -d, -f1 "$project/now" | sort) | wc -l)
    other=$(comm -13 "$base/expected" "$project/now" | wc -l)
    running=$("$alibi" query --project "$project" --format csv \
        "SELECT count(*) FROM attempts WHERE state='running'" 2>&1 | tail -1 | tr -d '\r')
    lost=$((lost + missing))
    wrong=$((wrong + other))
    [ "$missing" -gt 0 ] && say "$missing results are missing at the end"
    [ "$other" -gt 0 ] && say "$other results differ: $(comm -13 "$base/expected" "$project/now" | head -1)"
    [ "$running" = 0 ] || { wrong=$((wrong + 1)); say "$running attempts are left as running"; }
    if ! "$alibi" verify --project "$project" >>"$project/out" 2>&1; then
        wrong=$((wrong + 1))
        say "alibi verify: $(tail -1 "$project/out")"
    fi
}

# A moment within the time that an undisturbed run takes, in seconds.
a_while() {
    ms=$((RANDOM * (reference_ms * ${1:-100} / 100) / 32768 + 20))
    sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
}

alive() { kill -0 "$1" 2>/dev/null; }

# --- the disturbances: each returns 0 if it struck ---

kill_worker() {
    a_while
    victim=$(workers_of "$project" | shuf -n 1 --random-source=<(yes $RANDOM))
    [ -n "$victim" ] && kill -9 "$victim" 2>/dev/null
}

kill_scheduler() {
    a_while
    alive "$pid" && kill -9 "$pid" && wait "$pid" 2>/dev/null
    [ $? -eq 137 ]
}

# Killed within the first tenth of a second: folders and results.db are only just being made.
kill_start() {
    sleep "0.0$((RANDOM % 90 + 10))"
    alive "$pid" && kill -9 "$pid" && wait "$pid" 2>/dev/null
    [ $? -eq 137 ]
}

# Killed, and killed again while it takes up what it finds.
kill_recovery() {
    kill_scheduler || return 1
    start
    a_while 8
    alive "$pid" && kill -9 "$pid"
    wait "$pid" 2>/dev/null
    return 0
}

interrupt() {
    a_while
    alive "$pid" && kill -INT "$pid"
    wait "$pid"
    rc=$?
    [ $rc -eq 130 ] && return 0
    [ $rc -eq 0 ] || { wrong=$((wrong + 1)); say "Ctrl-C ended with $rc, not 130"; }
    return 1
}

interrupt_twice() {
    a_while
    alive "$pid" || return 1
    kill -INT "$pid"
    sleep 0.25
    kill -INT "$pid" 2>/dev/null
    wait "$pid"
    [ $? -eq 130 ]
}

# The k-th of the scheduler's calls that change files or start processes is its last.
before_kill_at_call() {
    wrap=(strace -qq -o /dev/null -e signal=none -e "trace=$calls"
        -e "inject=$calls:signal=SIGKILL:when=$((RANDOM % 250 + 1))")
}
calls=pwrite64,write,fsync,fdatasync,ftruncate,rename,mkdir,unlink,clone,openat
kill_at_call() {
    wait "$pid" 2>/dev/null
    [ $? -eq 137 ]
}

# One write or sync of the scheduler or of a worker fails. It must be told, not crash.
before_fail_call() {
    local error=EIO
    [ $((RANDOM % 2)) = 0 ] && error=ENOSPC
    wrap=(strace -f -qq -o "$project/trace" -e signal=none -e trace=pwrite64,write,fsync,fdatasync
        -e "inject=pwrite64,write,fsync,fdatasync:error=$error:when=$((RANDOM % 120 + 1))")
}
fail_call() {
    wait "$pid" 2>/dev/null
    rc=$?
    [ $rc -lt 128 ] || { wrong=$((wrong + 1)); say "ended with $rc: $(tail -1 "$project/out")"; }
    grep -q INJECTED "$project/trace"
}

# A checkpoint that the next attempt would go on from gets another byte in its middle.
damage_checkpoint() {
    kill_scheduler || return 1
    file=$(ls -t "$project"/runs/*/*/*.safetensors 2>/dev/null | head -1)
    [ -n "$file" ] || return 1
    run=$(basename "$(dirname "$(dirname "$file")")")
    # A finished training's is for alibi verify: also of one that said so when nobody listened any more.
    grep -q "^$run," "$project/seen" && return 1
    results "$project" | grep -q "^$run," && return 1
    grep -qa '"best_sha256"' "$(dirname "$file")/events" && return 1
    size=$(stat -c %s "$file")
    printf '\377\000\377' | dd of="$file" bs=1 seek=$((size / 2)) conv=notrunc status=none
}

# A record file that ends in the middle of a record, as after a power cut.
tear_records() {
    kill_scheduler || return 1
    file=$(ls -t "$project"/runs/*/*/events 2>/dev/null | head -1)
    [ -n "$file" ] || return 1
    truncate -s -$((RANDOM % 40 + 1)) "$file"
}

# results.db is deleted with all that is beside it: the run folders make it again.
lose_database() {
    kill_scheduler || return 1
    [ -f "$project/results.db" ] && orphans_of "$project" >>"$project/out" || return 1
    still_there
    rm -f "$project"/results.db*
    if ! "$alibi" merge "$project/runs" --project "$project" >>"$project/out" 2>&1; then
        [ -d "$project/runs" ] && ls "$project"/runs/*/*/events >/dev/null 2>&1 || return 1 # there was nothing yet
        wrong=$((wrong + 1))
        say "alibi merge: $(tail -1 "$project/out")"
    fi
}

# Ten at once: one works, nine are told to try later.
crowd() {
    others=()
    for _ in 1 2 3 4 5 6 7 8 9; do
        "$alibi" run "$grid" "${sets[@]}" --devices "$devices" --project "$project" \
            >>"$project/out" 2>&1 </dev/null &
        others+=($!)
    done
    later=0
    for other in "${others[@]}"; do
        wait "$other"
        rc=$?
        [ $rc -eq 75 ] && later=$((later + 1))
        [ $rc -eq 75 ] || [ $rc -eq 0 ] || { wrong=$((wrong + 1)); say "one of ten ended with $rc"; }
    done
    [ $later -gt 0 ]
}

# Readers all the time: each must see a whole state.
read_along() {
    while alive "$pid"; do
        "$alibi" query --project "$project" "SELECT count(*), sum(perplexity) FROM evaluations" \
            >/dev/null 2>"$project/query"
        rc=$?
        if [ $rc -ne 0 ] && [ $rc -ne 66 ]; then # 66: there are no results yet
            wrong=$((wrong + 1))
            say "a query beside the run failed: $(cat "$project/query")"
        fi
    done
    return 0
}

# --- rows of the table ---

row() { printf '  %-34s %8s %6s %6s %8s\n' "$@"; }

# scenario NAME INJECTION N: N disturbances, at most six for each start from nothing.
scenario() {
    name=$1
    injected=0 lost=0 wrong=0
    local wanted=$3 from round=0
    from=$(now_ms)
    while [ $injected -lt "$wanted" ] && [ $round -lt $((wanted + 5)) ]; do
        round=$((round + 1))
        new_project "$2-$round"
        here_n=0
        for _ in $(seq 20); do
            if [ $here_n -lt 6 ] && [ $injected -lt "$wanted" ]; then
                declare -F "before_$2" >/dev/null && "before_$2"
                start
                wrap=()
                "$2" && injected=$((injected + 1)) && here_n=$((here_n + 1))
            else
                start
            fi
            wait "$pid" 2>/dev/null
            rc=$?
            orphans_of "$project" >"$project/orphans" || { wrong=$((wrong + 1)); say "$(cat "$project/orphans")"; }
            still_there
            # 127: the injection has waited for it already.
            [ $rc -eq 0 ] && break
        done
        resumed=$((resumed + $(grep -ls "resuming after update" "$project"/runs/*/*/log | wc -l)))
        [ $rc -eq 0 ] || { wrong=$((wrong + 1)); say "does not come to an end: $(tail -1 "$project/out")"; }
        compare
        rm -rf "$project"
    done
    report "$from"
}

report() { # from
    local ms=$(($(now_ms) - $1))
    row "$name" $injected $lost $wrong "$((ms / 1000)).$((ms % 1000 / 100))"
    [ $lost -eq 0 ] && [ $wrong -eq 0 ] || failures=$((failures + 1))
}

# A disk that is full: the sentence says so, nothing is lost, and with room again the rest is done.
full_disk() {
    name="disk full"
    injected=0 lost=0 wrong=0
    local from
    from=$(now_ms)
    new_project full
    mkdir "$project/disk"
    if ! unshare -rm true 2>/dev/null; then
        row "$name" skipped - - "-"
        echo "    $name: a small file system needs unshare with a user namespace, which is not allowed here"
        return
    fi
    # Inside the namespace: the project is the mounted folder, which goes with the namespace.
    export alibi grid devices project
    sets_text="${sets[*]}" reference="$base/expected" data="$base/reference/data" \
        unshare -rm bash "$here/full_disk.sh" >"$project/full" 2>&1
    rc=$?
    injected=$(grep -c '^full' "$project/full")
    if [ $rc -ne 0 ]; then
        wrong=$((wrong + 1))
        say "$(tail -2 "$project/full" | tr '\n' ' ')"
    else
        # The results as the namespace printed them at its end.
        sed -n '/^results/,$p' "$project/full" | tail -n +2 >"$project/perplexities"
        "$alibi" query --project "$base/reference" --format csv \
            "SELECT run_id, perplexity FROM evaluations ORDER BY run_id" |
            diff -q - "$project/perplexities" >/dev/null || { wrong=$((wrong + 1)); say "results differ"; }
    fi
    report "$from"
}

# --- the whole ---

echo "faults: seed $seed (SEED=$seed repeats the same moments)"
project=$base/reference
mkdir -p "$project"
start
wait "$pid" || { echo "the undisturbed run failed: $(tail -3 "$project/out")"; exit 1; }
rm -rf "$project"/results.db* "$project/runs"
from=$(now_ms)
start
wait "$pid" || { echo "the undisturbed run failed: $(tail -3 "$project/out")"; exit 1; }
reference_ms=$(($(now_ms) - from))
results "$project" >"$base/expected"
echo "undisturbed: $(wc -l <"$base/expected") results in $((reference_ms / 1000)).$((reference_ms % 1000 / 100)) s"
row injection injected lost wrong seconds
scenario "kill -9 of a worker" kill_worker $((5 * times))
scenario "kill -9 of the scheduler" kill_scheduler $((5 * times))
scenario "kill -9 as it starts" kill_start $((5 * times))
scenario "kill -9 while it recovers" kill_recovery $((3 * times))
scenario "Ctrl-C" interrupt $((3 * times))
scenario "Ctrl-C twice" interrupt_twice $((2 * times))
if strace -o /dev/null -e inject=fsync:error=EIO true 2>/dev/null; then
    scenario "kill -9 at a system call" kill_at_call $((4 * times))
    scenario "a system call fails" fail_call $((4 * times))
else
    row "at a system call" skipped - - -
    echo "    needs strace, and leave to trace"
fi
scenario "damaged checkpoint" damage_checkpoint $((2 * times))
scenario "torn record" tear_records $((2 * times))
scenario "results.db deleted" lose_database $((3 * times))
scenario "ten schedulers at once" crowd $((1 * times))
scenario "queries beside the run" read_along $((1 * times))
full_disk
echo "$resumed attempts went on from a checkpoint of another"
if [ $failures -gt 0 ]; then
    echo "$failures kinds of disturbance did harm"
    exit 1
fi
echo "nothing lost, nothing wrong"
