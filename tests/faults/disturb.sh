#!/bin/bash
# disturb.sh - for run.sh: projects, comparisons, and the disturbances of a running grid. A disturbance returns 0 if it had
# an effect; before_NAME prepares a start, after_NAME cleans up.

finish() {
    for p in $(workers_of "$base"); do kill -9 "$p" 2>/dev/null; done
    rm -rf "$base"
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }
say() { echo "    $name: $*"; }
wrongly() { wrong=$((wrong + 1)); say "$@"; }
alive() { kill -0 "$1" 2>/dev/null; }

# Processes that work in a project under $1, by the mark in their environment.
workers_of() {
    grep -lzs "^ALIBI_ATTEMPT=$1/" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3
}

# No worker may be left; one that is being killed gets 5 s.
no_orphans() {
    for _ in $(seq 50); do
        left=$(workers_of "$project")
        [ -z "$left" ] && return 0
        sleep 0.1
    done
    echo "a worker outlived its scheduler by 5 s: $left" >"$project/orphans"
    return 1
}

new_project() {
    project=$base/$1
    mkdir -p "$project"
    ln -s "$base/reference/data" "$project/data"
    : >"$project/seen"
}

run_grid() { "$alibi" run "$grid" --devices "$devices" --project "$project" >>"$project/out" 2>&1 </dev/null; }

wrap=() # words that start puts before the program
start() { # runs the program in the background; sets $pid
    "${wrap[@]}" "$alibi" run "$grid" --devices "$devices" --project "$project" >>"$project/out" 2>&1 </dev/null &
    pid=$!
}

ask() { "$alibi" query --project "$project" --format csv "$1" 2>>"$project/out" | tr -d '\r'; }

results() {
    ask "SELECT run_id, train_run_id, config_id, scale, dataset, position, L_train, L_valid, split, protocol, stride,
        first_window, precision, seed, perplexity, loss_nats, tokens, nonfinite, checkpoint_sha256 FROM evaluations
        UNION ALL SELECT run_id, '', config_id, scale, dataset, position, L_train, 0, '', '', 0, '', '', seed, 0,
        final_loss_nats, updates, 0, '' FROM trainings" | sort
}

# Results that were reported before must still exist, unchanged.
still_there() {
    [ -f "$project/results.db" ] || return 0
    results >"$project/now"
    local gone
    gone=$(comm -23 "$project/seen" "$project/now" | wc -l)
    lost=$((lost + gone))
    [ "$gone" -gt 0 ] && say "$gone results that were reported are gone or changed"
    mv "$project/now" "$project/seen"
}

# The project must have exactly the results of an undisturbed run, each once, and no process left.
compare() {
    local missing other running
    results >"$project/now"
    missing=$(comm -23 <(cut -d, -f1 "$expected" | sort) <(cut -d, -f1 "$project/now" | sort) | wc -l)
    other=$(comm -13 "$expected" "$project/now" | wc -l)
    running=$(ask "SELECT count(*) FROM attempts WHERE state='running'" | tail -1)
    lost=$((lost + missing))
    wrong=$((wrong + other))
    [ "$missing" -gt 0 ] && say "$missing results are missing at the end"
    [ "$other" -gt 0 ] && say "$other results differ: $(comm -13 "$expected" "$project/now" | head -1)"
    [ "$running" = 0 ] || wrongly "$running attempts are left as running"
    "$alibi" verify --project "$project" >>"$project/out" 2>&1 || wrongly "alibi verify: $(tail -1 "$project/out")"
}

# Runs the grid undisturbed; records its results, its time, and the numbers of its calls and allocations.
undisturbed() {
    cp -r "$here/grid" "$base/grid"
    project=$base/reference
    mkdir -p "$project" "$base/blas"
    "$alibi" data prepare tiny --text tests/fixtures/checkpoints/text --project "$project" >"$project/out" 2>&1
    run_grid || { echo "the undisturbed run failed: $(tail -3 "$project/out")"; return 1; }
    rm -rf "$project"/results.db* "$project/runs"
    local from
    from=$(now_ms)
    run_grid || { echo "the undisturbed run failed: $(tail -3 "$project/out")"; return 1; }
    reference_ms=$(($(now_ms) - from))
    results >"$base/expected"
    expected=$base/expected
    cp "$build/faults/inject.so" "$base/blas/libdnnl.so.2"
    new_project allocating
    FAULT_COUNT=$base/mallocs LD_PRELOAD=$build/faults/inject.so run_grid
    mallocs_n=$(cat "$base/mallocs")
    new_project calling_libc
    preload "FAULT_CALLS=$base/libc"
    start
    wait "$pid"
    wrap=()
    awk '{ n[$1] += $2 } END { for (name in n) print name, n[name] }' "$base/libc" | sort >"$base/libc-calls"
    [[ $absent == *"|strace|"* ]] || count_calls
    echo "undisturbed: $(wc -l <"$expected") results in $((reference_ms / 1000)).$((reference_ms % 1000 / 100)) s"
}

count_calls() {
    new_project calling
    worker "$(basename "$(dirname "$(dirname "$(ls "$base"/reference/runs/*/1/update-*.safetensors | head -1)")")")"
    worker_calls_n=$(wc -l <"$project/trace")
    wrap=(strace -qq -o "$project/trace" -e signal=none -e "trace=$calls")
    start
    wait "$pid"
    wrap=()
    calls_n=$(wc -l <"$project/trace")
}

# A random moment within an undisturbed run, in seconds, or within the first $1 % of it.
a_while() {
    local ms=$((RANDOM * (reference_ms * ${1:-100} / 100) / 32768 + 20))
    sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
}

# The number of the call that fails, spread evenly over all $1. Their number depends on when the scheduler polls, so the
# last ones may not occur.
spread() { echo $((1 + $1 * (2 * round - 1) / (2 * times) % $1)); }

# Waits for the program; sets $rc.
await() {
    wait "$pid" 2>/dev/null
    rc=$?
}

# ended WHEN [STATUS...]: with one of these; without any it must not crash.
ended() {
    await
    if [ $# -eq 1 ]; then [ $rc -lt 128 ]; else [[ " ${*:2} " == *" $rc "* ]]; fi ||
        wrongly "$1 it ended with $rc: $(tail -1 "$project/out")"
}

# --- killed ---

kill_worker() {
    a_while
    local victim
    victim=$(workers_of "$project" | shuf -n 1 --random-source=<(yes $RANDOM))
    [ -n "$victim" ] && kill -9 "$victim" 2>/dev/null
}

# Kills it; fails if it had ended before.
strike() {
    alive "$pid" && kill -9 "$pid" || return 1
    await
    [ $rc -eq 137 ]
}

kill_scheduler() {
    a_while
    strike
}

# Kills it within the first tenth of a second, while it creates folders and results.db.
kill_start() {
    sleep "0.0$((RANDOM % 90 + 10))"
    strike
}

# Kills it, and kills it again while it recovers.
kill_recovery() {
    kill_scheduler || return 1
    start
    a_while 8
    strike || await
    return 0
}

# Kills the scheduler at its k-th call that changes files or starts processes.
calls=pwrite64,write,fsync,fdatasync,ftruncate,rename,mkdir,unlink,clone,openat
before_kill_at_call() {
    wrap=(strace -qq -o /dev/null -e signal=none -e "trace=$calls" -e "inject=$calls:signal=SIGKILL:when=$(spread "$calls_n")")
}
kill_at_call() {
    await
    [ $rc -eq 137 ]
}

# Kills a worker at its k-th call that writes, syncs or renames; most of these belong to checkpoints. Its attempt is not
# recorded; the next one resumes from the last complete checkpoint.
checkpoint_calls=write,pwrite64,fsync,ftruncate,rename
worker() { # RUN [strace option…]: runs a first attempt alone
    mkdir -p "$project/runs/$1/1"
    cp "$base/reference/runs/$1/1/spec" "$project/runs/$1/1/"
    (cd "$project" && strace -qq -o "$project/trace" -e signal=none -e "trace=$checkpoint_calls" "${@:2}" \
        "$alibi" worker "runs/$1/1") >>"$project/out" 2>&1 </dev/null
}
before_kill_in_checkpoint() {
    local trainings=("$base"/reference/runs/*/1/update-*.safetensors)
    training=$(basename "$(dirname "$(dirname "${trainings[injected % ${#trainings[@]}]}")")")
    { worker "$training" -e "inject=$checkpoint_calls:signal=SIGKILL:when=$(spread "$worker_calls_n")"; } 2>/dev/null
    killed=$?
}
kill_in_checkpoint() {
    nothing
    [ $killed -eq 137 ]
}

interrupt() { # SIGNAL
    a_while
    alive "$pid" && kill "-$1" "$pid"
    await
    # 143: the signal came before the program had its handler.
    [ $rc -eq 130 ] || [ $rc -eq 143 ] && return 0
    [ $rc -eq 0 ] || wrongly "SIG$1 ended with $rc, not 130"
    return 1
}

interrupt_twice() {
    a_while
    alive "$pid" || return 1
    kill -INT "$pid"
    sleep 0.05
    kill -INT "$pid" 2>/dev/null
    await
    [ $rc -eq 130 ]
}

# --- calls that fail: the k-th of each process ---

before_fail() { # ERROR [+: also all later calls]
    local writes=pwrite64,write,fsync,fdatasync
    wrap=(strace -f -qq -o "$project/trace" -e signal=none -e "trace=$writes"
        -e "inject=$writes:error=$1:when=$((1 + RANDOM % 120))${2:-}")
}
fail() {
    ended disturbed
    grep -q INJECTED "$project/trace"
}

# Loads inject.so with these settings into the scheduler and its workers, which get no environment of its own.
preload() { # SETTING...
    local program=$build/faults/preloaded
    wrap=(env "LD_PRELOAD=$build/faults/inject.so" "$@" "ALIBI_PROGRAM=$program")
    printf '%q ' exec "${wrap[@]}" "$alibi" >"$program"
    printf '"$@"\n' >>"$program"
    sed -i '1i #!/bin/bash' "$program"
    chmod +x "$program"
}

# One call of libc in one process, the scheduler or a worker, fails with one of these errors, or kills it.
errors=(5 11 12 13 24 28 30 122) # EIO EAGAIN ENOMEM EACCES EMFILE ENOSPC EROFS EDQUOT
before_strike_call() { # [0: kill]
    local call n
    read -r call n < <(shuf -n 1 --random-source=<(yes $RANDOM) "$base/libc-calls")
    page=$project/page
    head -c 16 /dev/zero >"$page"
    call="$call $((1 + (RANDOM * 32768 + RANDOM) % n)) ${1:-${errors[RANDOM % 8]}}"
    preload "FAULT_PAGE=$page" "FAULT_CALL=$call"
    echo "$call" >>"$project/out"
}
strike_call() {
    await
    [ $rc -lt 128 ] || [ $rc -eq 137 ] || wrongly "ended with $rc: $(tail -1 "$project/out")"
    [ "$(od -An -t d8 -j 8 "$page")" -eq 1 ]
}

# Limits the size of files: the write that reaches the limit is short, the next one fails.
before_short_write() {
    wrap=(bash -c 'trap "" XFSZ; ulimit -f "$0"; exec "$@"' $((RANDOM % 250 + 4)))
}
short_write() {
    ended "with short writes"
    [ $rc -ne 0 ]
}

before_fail_malloc() {
    wrap=(env "LD_PRELOAD=$build/faults/inject.so" "FAULT_MALLOC=$(spread "$mallocs_n")${1:-}")
}
# Code that builds text and tables aborts with a message; code that holds results exits cleanly.
fail_malloc() {
    await
    [ $rc -lt 128 ] || { [ $rc -eq 134 ] && tail -3 "$project/out" | grep -q "memory"; } ||
        wrongly "ended with $rc: $(tail -1 "$project/out")"
    return 0
}

# --- files that are changed, missing or of the wrong kind ---

# Changes a byte in the middle of the checkpoint that the next attempt would resume from.
damage_checkpoint() {
    kill_scheduler || return 1
    local file run size
    file=$(ls -t "$project"/runs/*/*/*.safetensors 2>/dev/null | head -1)
    [ -n "$file" ] || return 1
    run=$(basename "$(dirname "$(dirname "$file")")")
    # Not that of a finished training, even if its scheduler died before the last record: alibi verify finds those.
    grep -q "^$run," "$project/seen" && return 1
    results | grep -q "^$run," && return 1
    grep -qa '"best_sha256"' "$(dirname "$file")/events" && return 1
    size=$(stat -c %s "$file")
    printf '\377\000\377' | dd of="$file" bs=1 seek=$((size / 2)) conv=notrunc status=none
}

# Cuts a file of event records in the middle of a record, as after a power failure.
tear_records() {
    kill_scheduler || return 1
    local file
    file=$(ls -t "$project"/runs/*/*/events 2>/dev/null | head -1)
    [ -n "$file" ] || return 1
    truncate -s -$((RANDOM % 40 + 1)) "$file"
}

# Changes a byte of the corpus, cuts it, or replaces a file by another: nothing may be trained on it.
before_damage_corpus() {
    local file=(train valid test) of
    of=${file[RANDOM % 3]}
    rm -rf "$project/data"
    cp -r "$base/reference/data" "$project/data"
    local path=$project/data/tiny/$of.tokens size
    size=$(stat -c %s "$path")
    case $((RANDOM % 4)) in
    0) truncate -s $((RANDOM * size / 32768)) "$path" ;;
    1) cp "$project/data/tiny/dict.txt" "$path" ;;
    *) at=$((RANDOM * size / 32768))
        was=$(od -An -tu1 -j $at -N 1 "$path")
        printf "\\x$(printf %x $((was ^ (1 << RANDOM % 8))))" | dd of="$path" bs=1 seek=$at conv=notrunc status=none ;;
    esac
}
damage_corpus() {
    ended "on a damaged corpus" 65
    [ ! -e "$project/runs" ] || wrongly "a run was started on a damaged corpus"
}
after_damage_corpus() { rm -rf "$project/data" && ln -s "$base/reference/data" "$project/data"; }

# Makes the folder read-only while the command runs.
before_read_only() {
    local places=(. runs results.db) at
    at=$project/${places[RANDOM % 3]}
    [ -e "$at" ] || at=$project
    wrap=(unshare -rm sh -c 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"' "$at")
}
read_only() {
    ended "on a read-only folder" 0 65 66 69 73 74
    [ $rc -ne 0 ] # 0: the remaining work did not need the file
}

before_in_the_way() {
    local places=(runs results.db results.db.lock results.db.open data)
    place=$project/${places[RANDOM % 5]}
    if [ -e "$place" ]; then mv "$place" "$place.kept"; fi
    case $((RANDOM % 2)) in
    0) [ "$(basename "$place")" = runs ] || [ "$(basename "$place")" = data ] && touch "$place" || mkdir "$place" ;;
    1) mkfifo "$place" ;;
    esac
}
in_the_way() {
    ended "with another kind of file"
    [ $rc -ne 0 ]
}
after_in_the_way() {
    rm -rf "$place"
    if [ -e "$place.kept" ] || [ -L "$place.kept" ]; then mv "$place.kept" "$place"; fi
}

# What a power cut at a random moment of a traced run leaves, by the strictest rules (powercut.c), with nothing wrong in it.
before_power_cut() {
    if [ ! -s "$base/trace" ]; then
        local own=$project
        new_project traced
        wrap=(strace -f -qq -y -xx -s 99999999 -o "$base/trace" -e signal=none
            -e trace=openat,mkdir,mkdirat,unlink,unlinkat,rename,renameat,renameat2,write,pwrite64,ftruncate,fsync,fdatasync)
        start
        wait "$pid"
        wrap=()
        project=$own
    fi
    "$build/faults/powercut" "$base/trace" "$base/traced" "$project" $((RANDOM * 32768 + RANDOM)) >>"$project/out" 2>&1 ||
        wrongly "$(tail -1 "$project/out")"
    still_there
    [ -z "$(comm -13 "$expected" "$project/seen")" ] || wrongly "after a power cut results.db holds a wrong result"
}
power_cut() { nothing; }

# --- results.db ---

# Deletes results.db and the files beside it; the run folders rebuild it.
rebuild() {
    rm -f "$project"/results.db*
    merge_runs
}
merge_runs() {
    "$alibi" merge "$project/runs" --project "$project" >>"$project/out" 2>&1 && return
    # Without a record there was nothing to merge.
    [ -n "$(find "$project/runs" -name events -size +0c 2>/dev/null)" ] && wrongly "alibi merge: $(tail -1 "$project/out")"
    return 0
}

lose_database() {
    kill_scheduler || return 1
    [ -f "$project/results.db" ] && no_orphans || return 1
    still_there
    rebuild
}

# Deletes results.db, replaces it by another project's, cuts it, overwrites it or flips a bit, while the scheduler has it
# open. The run folders rebuild it.
hurt_database() {
    a_while
    local db=$project/results.db size
    alive "$pid" && [ -f "$db" ] && size=$(stat -c %s "$db") && [ "$size" -gt 0 ] || return 1
    still_there
    case $((RANDOM % 6)) in
    0) rm -f "$db" ;;
    1) cp "$base/reference/results.db" "$db.new" && mv "$db.new" "$db" ;;
    2) truncate -s $((size / 2)) "$db" ;;
    3) dd if=/dev/zero of="$db" bs=100 count=1 conv=notrunc status=none ;;
    4) printf '\377\377\377\377' | dd of="$db" bs=1 seek=$((RANDOM * size / 32768)) conv=notrunc status=none ;;
    5) truncate -s 10 "$db-wal" ;;
    esac
    await
    # 135: SIGBUS in a shared mapping, because its file was cut.
    [ $rc -lt 128 ] || [ $rc -eq 135 ] || wrongly "ended with $rc: $(tail -1 "$project/out")"
    no_orphans || wrongly "$(cat "$project/orphans")"
    rebuild
}

# Copies results.db while the scheduler has it open, by VACUUM INTO and by .backup in turn, and lets a moment pass.
copy_database() {
    a_while 60
    alive "$pid" && [ -f "$project/results.db" ] || return 1
    still_there
    rm -f "$project/copy.db"
    python3 -c 'import sqlite3, sys
c = sqlite3.connect(sys.argv[1], timeout=30)
if int(sys.argv[3]) % 2: c.execute("VACUUM INTO ?", sys.argv[2:3])
else:
    to = sqlite3.connect(sys.argv[2]); c.backup(to); to.close()
c.close()' "$project/results.db" "$project/copy.db" "$injected" >>"$project/out" 2>&1 || return 1
    a_while 20
    alive "$pid"
}

# Replaces results.db by this copy. The copy stays whole, and the run folders add what it lacks.
restore_database() {
    copy_database && mv "$project/copy.db" "$project/results.db" || return 1
    ended "with an older copy" 0 74
    no_orphans || wrongly "$(cat "$project/orphans")"
    merge_runs
    pid=1 # nothing to wait for: the copy may be older than the end of the grid, which runs once more
}

# The same after the scheduler was killed and has left its log; each of these commands is the first to meet both.
restore_killed() {
    copy_database && strike && mv "$project/copy.db" "$project/results.db" || return 1
    no_orphans || wrongly "$(cat "$project/orphans")"
    case $((injected % 5)) in
    0) set -- status ;;
    1) set -- query "SELECT count(*), sum(perplexity) FROM evaluations" ;;
    2) set -- report "$grid" --format csv ;;
    3) set -- gc ;;
    4) set -- run "$grid" --devices "$devices" ;;
    esac
    "$alibi" "$@" --project "$project" >>"$project/out" 2>&1 </dev/null || wrongly "alibi $*: $?, $(tail -1 "$project/out")"
    merge_runs
    pid=1
}

# Another program reads or writes in a transaction for a while.
before_lock_database() { [ -f "$project/results.db" ] || run_grid_once; }
run_grid_once() { start && a_while 60 && kill -INT "$pid" && wait "$pid"; }
lock_database() {
    python3 -c 'import sqlite3, sys, time
c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
c.execute(sys.argv[2]); c.execute("SELECT count(*) FROM runs").fetchall(); time.sleep(1); c.execute("ROLLBACK")' \
        "$project/results.db" "BEGIN $(shuf -n 1 -e DEFERRED IMMEDIATE EXCLUSIVE --random-source=<(yes $RANDOM))" \
        >>"$project/out" 2>&1 || { say "$(tail -1 "$project/out")"; return 1; }
    ended "with a lock" 0
    return 0
}

# Starts many at once: one works, the others exit with "try later".
crowd() {
    local others=() later=0 n=9
    [ "${FAULTS:-}" = full ] && n=49
    for _ in $(seq $n); do
        run_grid &
        others+=($!)
    done
    for other in "${others[@]}"; do
        wait "$other"
        rc=$?
        [ $rc -eq 75 ] && later=$((later + 1))
        [ $rc -eq 75 ] || [ $rc -eq 0 ] || wrongly "one of many ended with $rc"
    done
    injected=$((injected + n)) # every scheduler counts as a fault
    [ $later -gt 0 ]
}

# Reads all the time: each read must see a consistent state.
read_along() {
    local reads=0
    while alive "$pid"; do
        case $((reads % 3)) in
        0) set -- query "SELECT count(*), sum(perplexity) FROM evaluations" ;;
        1) set -- report "$grid" --format csv ;;
        2) set -- status ;;
        esac
        "$alibi" "$@" --project "$project" >/dev/null 2>"$project/answer"
        rc=$?
        reads=$((reads + 1))
        [ $rc -eq 0 ] || [ $rc -eq 66 ] || # 66: there are no results yet
            wrongly "alibi $* during the run: $rc, $(cat "$project/answer")"
    done
    injected=$((injected + reads - 1)) # every read counts as a fault
    return 0
}

# --- the machine ---

before_leap_clock() { wrap=(env "LD_PRELOAD=$build/faults/inject.so" FAULT_CLOCK=1); }
leap_clock() { nothing; }

nothing() {
    ended undisturbed 0
    return 0
}

# A killed scheduler's attempts are found after a reboot, and by a host with another name.
reboot() {
    kill_scheduler || return 1
    cat /proc/sys/kernel/random/uuid >"$project/boot_id"
    wrap=(unshare -rmu sh -c 'hostname elsewhere && mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"'
        "$project/boot_id")
    start
    wrap=()
    ended "after a reboot" 0
    return 0
}

# The preferred BLAS crashes in every worker that opens it. Libraries differ in bits, so the run is compared with one that
# never had this BLAS.
before_crash_blas() {
    if [ ! -s "$base/expected-other" ]; then
        local own=$project
        project=$base/other
        mkdir -p "$project"
        ln -s "$base/reference/data" "$project/data"
        ALIBI_AVOID_BLAS=oneDNN run_grid
        results >"$base/expected-other"
        project=$own
    fi
    expected=$base/expected-other
    wrap=(env "LD_LIBRARY_PATH=$base/blas")
}
crash_blas() {
    nothing
    [ "$(ask "SELECT count(*) FROM attempts WHERE signal = 11" | tail -1)" -gt 0 ]
}

# --- a disk that is full ---

# For full_disk, in a separate mount namespace: runs the grid on a file system that is too small, enlarges it and repeats the
# command. Prints "full" each time the disk is full, then "results" and the perplexities.
small_disk() {
    local disk=$project/disk said rc
    mount -t tmpfs -o size=600k none "$disk" || exit 1
    ln -s "$base/reference/data" "$disk/data"
    for size in 200k 600k 1000k 200m; do
        mount -o "remount,size=$size" "$disk" || exit 1
        "$alibi" run "$grid" --devices "$devices" --project "$disk" >>"$project/out" 2>&1 </dev/null && continue
        rc=$?
        said=$(grep -iE 'no space left|disk is full|disk full|needs .* of disk' "$project/out" | tail -1)
        if [ -z "$said" ] || [ $size = 200m ]; then
            echo "the run on $size ended with $rc, not because of a full disk: $(tail -1 "$project/out")"
            exit 1
        fi
        echo "full: $said"
    done
    echo results
    "$alibi" query --project "$disk" --format csv "SELECT run_id, perplexity FROM evaluations ORDER BY run_id"
}

# The message says that the disk is full, nothing is lost, and with free space the rest is done.
full_disk() { # FAULT TEXT
    is_chosen "$1" || return
    name=$1
    injected=0 lost=0 wrong=0
    local from
    from=$(now_ms)
    new_project full
    mkdir "$project/disk"
    # The mounted project folder disappears with the namespace.
    export alibi base grid devices project
    unshare -rm bash -uc "$(declare -f small_disk); small_disk" >"$project/full" 2>&1
    rc=$?
    injected=$(grep -c '^full' "$project/full")
    if [ $rc -ne 0 ]; then
        wrongly "$(tail -2 "$project/full" | tr '\n' ' ')"
    else
        # The results that the namespace printed at its end.
        sed '1,/^results/d' "$project/full" >"$project/perplexities"
        "$alibi" query --project "$base/reference" --format csv "SELECT run_id, perplexity FROM evaluations ORDER BY run_id" |
            diff -q - "$project/perplexities" >/dev/null || wrongly "results differ"
    fi
    report "$1" "$2" "$from"
}

# --- RESULTS.md ---

write_results() {
    echo "# Faults injected, results lost"
    echo
    echo "Written by \`make faults\` (see \`run.sh\` here for what each column means): $("$alibi" --version), seed $seed,"
    echo "$(nproc) cores (load average $(cut -d. -f1 /proc/loadavg)), ${FAULTS:-default} counts, $((SECONDS / 60)) min $((SECONDS % 60)) s."
    echo
    echo "| fault | what is injected | times | lost | wrong | seconds | verdict |"
    echo "|---|---|--:|--:|--:|--:|---|"
    cat "$table"
}
