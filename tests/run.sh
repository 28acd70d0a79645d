#!/bin/sh
# run.sh - runs every test program of a build, the oracle checker and the scripts; prints the time of each leg.
# usage: tests/run.sh BUILD      JOBS=N: legs at a time (default: one more than cores, since some wait)
#                                ORACLE=folder: also check the fixtures there
#                                FOLDERS="store cli/test_import": only the legs of these folders or of this name
#                                LONG=1: also the legs, and the rounds of tests, that take longest
set -u

build=$1
legs=$build/tests/legs
export LSAN_OPTIONS="use_tls=0:print_suppressions=0:suppressions=$(pwd)/tests/leaks.txt" # the asan build reads it
export ASAN_OPTIONS=allocator_may_return_null=1 # a test requests more memory than exists

# One leg: run.sh BUILD leg NAME COMMAND... prints its result at once, so that parallel legs do not mix. Other programs on the
# machine make a leg longer, but hardly its processor time.
if [ "${2:-}" = leg ]; then
    name=$3
    shift 3
    log=$legs/$(echo "$name" | tr / _).log
    from=$(date +%s%N)
    "$@" >"$log" 2>&1 </dev/null
    rc=$?
    ms=$((($(date +%s%N) - from) / 1000000))
    case $rc in
        0) state=ok detail=$(grep -E '^\[  SKIPPED \]|^(skipped|checked):' "$log" | sort -u | sed 's/^/                    /') ;;
        77) state=skip detail="                    $(tail -n 1 "$log")" ;;
        *) state=FAIL detail=$(echo "        exit $rc"; tail -n 40 "$log" | sed 's/^/        /') ;;
    esac
    echo $state >"$log.state"
    times >"$log.times"
    cpu_ms=$(awk -F '[ms ]+' 'NR == 2 { printf "%d", 1000 * (60 * $1 + $2 + 60 * $3 + $4) }' "$log.times")
    echo "$cpu_ms ms of processor time in $ms ms  $name" >"$log.ms"
    printf '  %-4s  %5d ms  %s%s\n' $state $ms "$name" "${detail:+
$detail}"
    exit 0
fi

started=$(date +%s)
rm -rf "$legs"
mkdir -p "$legs"
{
    # The scripts come first: they take longest.
    for script in tests/cli/test_*.sh; do echo "${script#tests/} sh $script $build"; done
    # By source: the build may hold programs of deleted tests.
    for source in tests/*/test_*.c; do
        name=${source#tests/}
        echo "${name%.c} $build/tests/${name%.c}"
    done
    echo oracle "$build/tests/check_oracle" tests/fixtures/oracle/*.safetensors
    # The legs on CUDA read open/ alone: CUDA has no kernels for the heads of width 4 of open_models/bloom_complete.
    echo open "$build/tests/check_open" tests/fixtures/open/*/ tests/fixtures/open_models/*/
    if [ -n "${ORACLE:-}" ]; then echo "oracle:$ORACLE" "$build/tests/check_oracle" "$ORACLE"/*.safetensors; fi
} >"$legs/all"
if [ -n "${FOLDERS:-}" ]; then
    for folder in $FOLDERS; do grep "^$folder[/. ]" "$legs/all"; done >"$legs/list"
else
    # What takes long and fails least: tools that measure, ranks that are lost in every way, the seeds of the fuzzer, which `make fuzz`
    # runs under sanitizers. Under these also what takes minutes and parses no untrusted bytes: SQL of claims, with the C of
    # report/test_claims_fall.
    long='cli/test_bench_[a-z]*.sh|cli/test_lost_ranks.sh'
    case $build in
        *asan) long="$long|report/test_collection_claims" ;;
        *) if [ -n "${LONG:-}" ]; then long=none; else long="$long|fuzz/test_seeds"; fi ;;
    esac
    grep -vE "^($long) " "$legs/all" >"$legs/list"
    [ "$long" = none ] || echo "left to other builds of make check-full: $(grep -oE "^($long) " "$legs/all" | xargs)"
fi
xargs -P "${JOBS:-$(($(nproc) + 1))}" -I{} sh -c "exec sh tests/run.sh $build leg {}" <"$legs/list"

count() { cat "$legs"/*.state | grep -c "^$1$"; }
echo "the slowest legs, of $(cat "$legs"/*.ms | awk '{ s += $1 } END { printf "%d", s / 1000 }') s of processor time in all:"
sort -rn "$legs"/*.ms | head -n 10 | sed 's/^/  /'
echo "tests took $(($(date +%s) - started)) s"
echo "$(count ok) passed, $(count FAIL) failed, $(count skip) skipped"
[ "$(cat "$legs"/*.state | grep -vc FAIL)" -eq "$(wc -l <"$legs/list")" ]
