#!/bin/sh
# run.sh - runs every test program of a build, the oracle checker and the scripts, each a leg with its seconds.
# usage: tests/run.sh BUILD      ORACLE=folder: also check the fixtures there
set -u

build=$1
started=$(date +%s)
passed=0
failed=0
skipped=0
log=$build/tests/leg.log
export LSAN_OPTIONS="use_tls=0:print_suppressions=0:suppressions=$(pwd)/tests/leaks.txt" # the asan build reads it

leg() { # name command...
    name=$1
    shift
    from=$(date +%s%N)
    "$@" >"$log" 2>&1 </dev/null
    rc=$?
    ms=$((($(date +%s%N) - from) / 1000000))
    if [ $rc -eq 77 ]; then
        skipped=$((skipped + 1))
        printf '  skip  %5d ms  %s: %s\n' $ms "$name" "$(tail -n 1 "$log")"
    elif [ $rc -eq 0 ]; then
        passed=$((passed + 1))
        printf '  ok    %5d ms  %s\n' $ms "$name"
        grep -E '^\[  SKIPPED \]|^(skipped|checked):' "$log" | sort -u | sed 's/^/                    /'
    else
        failed=$((failed + 1))
        printf '  FAIL  %5d ms  %s (exit %d)\n' $ms "$name" $rc
        tail -n 40 "$log" | sed 's/^/        /'
    fi
}

for program in "$build"/tests/*/test_*; do
    case $program in *.d) continue ;; esac
    [ -x "$program" ] && leg "${program#"$build"/tests/}" "$program"
done
leg oracle "$build/tests/check_oracle" tests/fixtures/oracle/*.safetensors
if [ -n "${ORACLE:-}" ]; then leg "oracle $ORACLE" "$build/tests/check_oracle" "$ORACLE"/*.safetensors; fi
for script in tests/cli/test_*.sh; do
    [ -f "$script" ] && leg "${script#tests/}" sh "$script" "$build"
done

echo "tests took $(($(date +%s) - started)) s"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
