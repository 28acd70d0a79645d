#!/bin/sh
# run.sh - fuzzes every parser of bytes from outside for a while and prints executions and coverage.
# usage: tests/fuzz/run.sh BUILD [TARGET...]      SECONDS_EACH=60   JOBS=N: targets at a time (default: one per core)
# A crash leaves its input in BUILD/fuzz/TARGET/; once fixed, that file becomes a seed.
set -u

folder=$1/fuzz
export ASAN_OPTIONS=allocator_may_return_null=1
export LSAN_OPTIONS="print_suppressions=0:use_tls=0:suppressions=$(pwd)/tests/leaks.txt"

if [ "${2:-}" = target ]; then
    target=$3
    log=$folder/$target/log
    rm -f "$folder/$target/failed"
    mkdir -p "$folder/$target/corpus"
    ALIBI_FUZZ_TARGET=$target "$folder/fuzz" -max_total_time="${SECONDS_EACH:-60}" -timeout=60 -rss_limit_mb=2048 -max_len=262144 \
        -artifact_prefix="$folder/$target/" -print_final_stats=1 "$folder/$target/corpus" "tests/fuzz/seeds/$target" >"$log" 2>&1 </dev/null
    rc=$?
    result=ok
    [ $rc -eq 69 ] && rc=0 result="ok, until a statement reached its time limit" # the alarm of a query ends the process
    [ $rc -eq 0 ] || { result="FAIL (exit $rc), see $log"; touch "$folder/$target/failed"; }
    printf '%-14s %12s %8s %10s  %s\n' "$target" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" \
        "$(grep -oE 'cov: [0-9]+' "$log" | tail -n 1 | cut -c6-)" "$(grep -oE 'ft: [0-9]+' "$log" | tail -n 1 | cut -c5-)" "$result"
    exit 0
fi

build=$1
shift
printf '%-14s %12s %8s %10s  %s\n' target executions edges features result
TMPDIR=$(mktemp -d /dev/shm/alibi-fuzz-XXXXXX) # of this call: another's files stay
export TMPDIR
for target in ${*:-$("$folder/fuzz")}; do echo "$target"; done | xargs -P "${JOBS:-$(nproc)}" -I{} sh tests/fuzz/run.sh "$build" target {}
rm -rf "$TMPDIR"
! ls "$folder"/*/failed >/dev/null 2>&1
