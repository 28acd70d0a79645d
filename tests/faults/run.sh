#!/bin/bash
# run.sh - injects every fault that alibi must survive, and counts what is lost.
# usage: tests/faults/run.sh BUILD [FAULT...]      such as F1 F26; default: all
# FAULTS=full: the long loops; SEED=N: the moments of an earlier call
#
#   times     faults that occurred while the program ran; for a test of the suite, the faults it counts, or its cases
#   lost      results that were reported once and are gone, changed, or missing at the end
#   wrong     results that differ from the undisturbed run in anything but times (also in the hash of the weights) or are
#             current twice; leftover processes; commands that crash or end with an undocumented status
#
# After each disturbance the same command is repeated until it exits with 0. The table is printed and written to
# tests/faults/RESULTS.md.
set -u
export LC_ALL=C
here=$(dirname "$(realpath "$0")")
build=$(realpath "$1")
alibi=$build/alibi
shift
chosen=" $* "
seed=${SEED:-$(date +%s)}
RANDOM=$seed
devices=cpu:2
base=$(realpath "$(mktemp -d "${TMPDIR:-/tmp}/alibi-faults-XXXXXX")")
grid=$base/grid
failures=0
resumed=0
table=$base/table
: >"$table"
. "$here/disturb.sh"
trap finish EXIT

is_chosen() { [ "$chosen" = "  " ] || [[ $chosen == *" $1 "* ]]; }

# row FAULT TEXT TIMES LOST WRONG SECONDS VERDICT
row() {
    printf '  %-5s %-52s %6s %5s %6s %8s  %s\n' "$@"
    local IFS='|'
    echo "|$*|" >>"$table"
}

# report FAULT TEXT FROM_MS: the row of $injected, $lost and $wrong
report() {
    local ms=$(($(now_ms) - $3)) verdict=passed
    if [ $lost -gt 0 ] || [ $wrong -gt 0 ]; then
        verdict=FAILED
        failures=$((failures + 1))
    elif [ "$injected" -eq 0 ]; then
        verdict="did not strike"
        failures=$((failures + 1))
    fi
    row "$1" "$2" "$injected" $lost $wrong "$((ms / 1000)).$((ms % 1000 / 100))" "$verdict"
}

# disturb FAULT TEXT "FUNCTION [WORD...]" TIMES FULL [EACH]: disturbs the running grid so many times, at most EACH (6)
# times for each start from nothing. before_FUNCTION prepares a start.
disturb() {
    is_chosen "$1" || return
    name=$1
    local wanted=$4 each=${6:-6} from what
    read -ra what <<<"$3"
    [ "${FAULTS:-}" = full ] && wanted=$5
    injected=0 lost=0 wrong=0 times=$wanted round=0
    from=$(now_ms)
    while [ $injected -lt "$wanted" ] && [ $round -lt $((wanted + wanted / 4 + 5)) ]; do
        round=$((round + 1))
        new_project "$what-$round"
        local struck=0 rc=1
        for _ in $(seq 20); do
            if [ $struck -lt "$each" ] && [ $injected -lt "$wanted" ]; then
                declare -F "before_$what" >/dev/null && "before_${what[@]}"
                start
                wrap=()
                "${what[@]}" && injected=$((injected + 1)) && struck=$((struck + 1))
                declare -F "after_$what" >/dev/null && "after_$what"
            else
                start
            fi
            await
            no_orphans || { wrong=$((wrong + 1)); say "$(cat "$project/orphans")"; }
            still_there
            # 127: the disturbance has already waited for it.
            [ $rc -eq 0 ] && break
        done
        resumed=$((resumed + $(grep -ls "resuming after update" "$project"/runs/*/*/log | wc -l)))
        [ $rc -eq 0 ] || { wrong=$((wrong + 1)); say "does not come to an end: $(tail -1 "$project/out")"; }
        compare
        rm -rf "$project"
    done
    report "$1" "$2" "$from"
}

# suite FAULT TEXT PROGRAM CASE...: runs cases of a test program, or a script of tests/ (without cases). A case that counts
# its faults prints "N faults injected".
suite() {
    is_chosen "$1" || return
    name=$1
    local fault=$1 text=$2 program=$3 from log=$base/suite
    shift 3
    injected=0 lost=0 wrong=0
    from=$(now_ms)
    for case in "${@:-}"; do
        if [[ $program == *.sh ]]; then
            sh "tests/$program" "$build" >"$log" 2>&1 </dev/null
        else
            "$build/tests/$program" "$case" >"$log" 2>&1 </dev/null
        fi
        local rc=$? counted
        counted=$(awk '/[0-9]+ faults injected/ { n += $1 } END { if (n) print n }' "$log")
        [ -n "$counted" ] || counted=$(grep -cE '^\[ +OK \]' "$log")
        [[ $program == *.sh ]] && ! grep -q 'faults injected' "$log" && counted=$(grep -c '^expect\|^ *not_a_file ' "tests/$program")
        injected=$((injected + counted))
        [ $rc -eq 0 ] && [ "$counted" -gt 0 ] && continue
        wrong=$((wrong + 1))
        say "$program $case: exit $rc, $counted cases: $(grep -E 'FAILED|FAIL|rror' "$log" | head -2)"
    done
    report "$fault" "$text" "$from"
}

# repeated TIMES FULL CASE: the case so many times, as arguments for suite
repeated() {
    local n=$1
    [ "${FAULTS:-}" = full ] && n=$2
    for _ in $(seq "$n"); do echo "$3"; done
}

# needs WHAT COMMAND FAULT TEXT...: if this machine lacks WHAT, the row says so.
needs() {
    local what=$1
    shift
    if [[ $absent != *"|$what|"* ]]; then
        "$@"
    elif is_chosen "$2"; then
        row "$2" "$3" - - - - "needs $what"
    fi
}
absent="|a GPU|"
strace -o /dev/null -e inject=fsync:error=EIO true 2>/dev/null || absent+="strace|"
unshare -rmu true 2>/dev/null || absent+="namespaces|"
command -v python3 >/dev/null || absent+="python3|"

echo "faults: seed $seed (SEED=$seed repeats the same moments)"
undisturbed || exit 1
# Without AVX-512 trainings do not use oneDNN, so that its crash has no effect.
[[ $(project=$base/reference ask "SELECT max(blas) FROM attempts") == *oneDNN* ]] || absent+="oneDNN in trainings (AVX-512)|"
row fault injection times lost wrong seconds verdict
: >"$table"

disturb F1 "kill -9 of the scheduler" kill_scheduler 20 500
disturb F1 "kill -9 of the scheduler as it starts" kill_start 10 200
suite F1 "kill -9 of a writer of results.db" store/test_crash 'nothing_acknowledged_is_lost'
needs strace disturb F2 "kill -9 at the k-th call that changes files" kill_at_call 20 2000 1
disturb F2 "kill -9 of the process that makes the k-th call" "strike_call 0" 15 400 1
needs strace suite F1 "kill -9 and power cuts: import, prepare, kNN, losses" cli/test_killed.sh
disturb F3 "kill -9 of a worker" kill_worker 20 500
suite F3 "kill -9 of one worker after the other" worker/test_resume 'a_worker_killed_again*'
suite F3 "kill -9 of one rank; another number of them resumes" worker/test_ranks 'no_rank_survives*'
needs strace disturb F4 "kill -9 at the k-th write of a checkpoint" kill_in_checkpoint 12 200 1
disturb F5 "Ctrl-C" "interrupt INT" 5 80
disturb F5 "SIGTERM" "interrupt TERM" 5 80
disturb F5 "Ctrl-C twice" interrupt_twice 4 40
needs "a GPU" row F5 "Ctrl-C leaves no process on a GPU"
needs strace disturb F6 "ENOSPC at the k-th write or sync" "fail ENOSPC" 10 400 1
needs strace disturb F6 "ENOSPC from the k-th on" "fail ENOSPC +" 5 200 1
needs namespaces full_disk F6 "a disk too small"
suite F6 "the disk of rank 0 is full" worker/test_ranks 'the_error_of_one_rank*'
suite F6 "results.db on a full disk, every operation" store/test_faults 'a_disk_that*'
needs strace disturb F7 "EIO at the k-th write or sync" "fail EIO" 10 400 1
needs strace disturb F7 "EIO from the k-th on" "fail EIO +" 5 200 1
needs strace disturb F7 "EINTR at the k-th write or sync" "fail EINTR" 5 100 1
disturb F7 "a call of the scheduler or of a worker fails" strike_call 20 600 1
disturb F7 "short writes" short_write 8 100 1
suite F7 "results.db on a failing disk, every operation" store/test_faults 'an_error*'
needs namespaces disturb F8 "a folder that cannot be written" read_only 8 20
disturb F8 "a file in place of a folder, a folder of a file" in_the_way 6 20
disturb F9 "a damaged checkpoint" damage_checkpoint 5 100
suite F9 "damaged safetensors" interchange/test_safetensors '*rejected*' 'every_truncation*'
suite F9 "damaged checkpoints of others" interchange/test_import 'other_files*' '*rejected' 'a_tensor_of*' '*never_crash*'
suite F9 "a damaged checkpoint, resumed and evaluated" worker/test_resume 'a_damaged*'
disturb F10 "a corpus of other bytes" damage_corpus 12 1000
suite F10 "damaged corpora" data/test_corpus '*damage*' '*changed*' '*short*' '*rejected*'
suite F10 "another text under the same name" worker/test_train 'another_text*'
suite F11 "odd texts" prepare/test_text '*'
needs python3 disturb F12 "results.db locked by others" lock_database 3 50
suite F12 "a foreign writer" store/test_open 'a_foreign_writer*'
disturb F13 "results.db deleted" lose_database 5 100
disturb F13 "results.db replaced, cut or flipped while it is in use" hurt_database 10 200
needs python3 disturb F13 "results.db replaced by an older copy of itself" restore_database 20 200
needs python3 disturb F13 "the same after kill -9 of the scheduler" restore_killed 10 200
suite F13 "an older copy at every step of a writer or a reader" store/test_replace '*'
suite F13 "results.db deleted, replaced, damaged" store/test_open 'a_deleted*' 'a_copy*' 'a_new_file*' 'damage*'
suite F14 "results.db of every earlier version" store/test_migrate 'every_released*' 'a_migration*' 'a_file_of_the_next*'
disturb F15 "many schedulers at once" crowd 20 10000 1
suite F16 "a race of migrations" store/test_migrate 'a_race*'
suite F17 "hostile YAML" plan/test_yaml '*'
suite F17 "seeds of the fuzzed parsers" fuzz/test_seeds '*'
suite F18 "shell and SQL in names and titles" report/test_plot 'hostile*' 'quoting*'
suite F18 "markup and formulas in results" report/test_page '*markup*'
suite F18 "links, FIFOs and devices in place of files" cli/test_outside.sh
suite F19 "a loss that is not finite, in training" worker/test_train 'a_loss_that_is_not_finite*'
suite F19 "a gradient that is not finite" model/test_model 'a_gradient_that_is_not_finite*'
suite F19 "targets that are not finite" record/test_fields 'targets_that_are_not_finite*'
disturb F20 "the scheduler's k-th allocation fails" fail_malloc 12 400 1
disturb F20 "every allocation from the k-th on" "fail_malloc +" 6 200 1
needs "a GPU" row F20 "cudaMalloc fails at the k-th call"
suite F21 "a worker that is silent" scheduler/test_scheduler 'a_silent_worker*'
suite F21 "GPUs that cannot be used or are lost" scheduler/test_slots '*gpu*'
needs "a GPU" row F21 "Xid errors of a real driver"
disturb F22 "the clock leaps by hours and decades" leap_clock 3 50 1
needs namespaces disturb F23 "another host name and boot after a kill" reboot 4 50
suite F23 "a number that another process has now" scheduler/test_recover '*number*'
suite F24 "a worker that prints without end" scheduler/test_process $(repeated 5 20 'a_log_without_end*')
suite F25 "a worker's children outlive it" scheduler/test_process 'what_a_worker_started*'
suite F25 "the same, found by their mark" scheduler/test_recover 'what_a_worker_started*'
disturb F26 "kill -9 while it recovers" kill_recovery 10 500
suite F27 "a power cut at every operation of results.db" store/test_faults 'a_power_cut*'
needs strace disturb F27 "a power cut of the whole project, folders unsynced" power_cut 12 400 1
disturb F27 "a torn record" tear_records 5 200
suite F27 "a record file cut anywhere, any bit flipped" record/test_event 'a_file_cut*' 'a_flipped*'
suite F28 "resumed at every update" worker/test_resume 'a_run_stopped*'
disturb F29 "the same grid again" nothing 3 20 1
suite F29 "a training repeated" worker/test_reproduce 'a_training_is_reproduced*'
needs "a GPU" row F29 "the same grid twice on one GPU"
disturb F30 "queries, reports and exports beside the run" read_along 100 1000 1
suite F30 "readers see whole transactions" store/test_crash 'readers*'
suite F31 "edited rows, deleted and swapped files" cli/test_home.sh
suite F32 "protocols, scales and windows that differ" report/test_transcripts '*'
suite F32 "an evaluation of another checkpoint" store/test_merge 'an_evaluation_of_another*'
needs "oneDNN in trainings (AVX-512)" disturb F33 "a worker's BLAS crashes" crash_blas 2 20 1
suite F33 "a BLAS that crashes or refuses" scheduler/test_scheduler '*blas*'

echo "$resumed attempts resumed from a checkpoint of another"
[ "$chosen" != "  " ] || write_results >"$here/RESULTS.md"
if [ $failures -gt 0 ]; then
    echo "$failures kinds of faults did harm"
    exit 1
fi
echo "nothing lost, nothing wrong"
