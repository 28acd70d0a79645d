#!/bin/sh
# check_gpu.sh - the legs of make check-gpu: the emulator's tests on a GPU. A leg that cannot run counts as failed.
# usage: tests/check_gpu.sh BUILD [DEVICE]
#   SANITIZE=0   without compute-sanitizer, whose legs take most of the time
#   LIMIT=300    seconds a leg may take: a kernel that never ends must not use up the GPU's time
set -u

build=$1
device=${2:-cuda:0}
limit=${LIMIT:-300}
log=$build/cuda/leg.log
started=$(date +%s)
passed=0
failed=0

why=$("$build/alibi" devices | grep "^$device ") || why="$device: this machine has no such GPU"
case $why in
*"not usable"* | *"no such GPU"*)
    echo "check-gpu: no GPU to check on: $why" >&2
    exit 69
    ;;
esac
mkdir -p "$build/cuda"

leg() { # name command...
    name=$1
    shift
    from=$(date +%s%N)
    timeout -k 5 "$limit" "$@" >"$log" 2>&1 </dev/null
    rc=$?
    ms=$((($(date +%s%N) - from) / 1000000))
    grep -q '^\[  SKIPPED \]' "$log" && rc=77
    if [ $rc -eq 0 ]; then
        passed=$((passed + 1))
        printf '  ok    %6d ms  %s\n' $ms "$name"
    else
        failed=$((failed + 1))
        printf '  FAIL  %6d ms  %s (exit %d)\n' $ms "$name" $rc
        tail -n 40 "$log" | sed 's/^/        /'
    fi
}

echo "$why"
leg "self-test of the primitives" "$build/cuda/selftest"
for program in "$build"/cuda/kernels/*; do leg "kernels, $(basename "$program")" "$program"; done
leg "op table" "$build/tests/ops/test_ops" "$device"
leg "op table, each op checked" "$build/tests/ops/test_ops" "check:$device"
leg "ops in bf16" "$build/tests/ops/test_ops" --bf16 "$device"
leg "ops in bf16, each op checked" "$build/tests/ops/test_ops" --bf16 "check:$device"
leg "oracle" "$build/tests/check_oracle" --device "$device" tests/fixtures/oracle/*.safetensors
if [ -n "${ORACLE:-}" ]; then leg "oracle $ORACLE" "$build/tests/check_oracle" --device "$device" "$ORACLE"/*.safetensors; fi
leg "20 updates as on the CPU" "$build/tests/model/check_training" "$device"
leg "20 updates in bf16" "$build/tests/model/check_training" --bf16 "$device"
leg "scores" "$build/tests/model/test_score" "$device"
leg "scores in bf16" "$build/tests/model/test_score" --bf16 "$device"
leg "graph capture" "$build/tests/ops/check_capture" "$device"
leg "passes as graphs" "$build/tests/model/check_graphs" "$device"
leg "attempts as on the CPU" "$build/tests/worker/check_device" "$device"
if [ "${SANITIZE:-1}" = 0 ]; then
    echo "check-gpu took $(($(date +%s) - started)) s: $passed passed, $failed failed, compute-sanitizer not asked for"
    [ $failed -eq 0 ]
    exit
fi
for program in "$build"/cuda/kernels/*; do
    case $program in *attention_formula) continue ;; esac # thousands of launches take too long
    leg "compute-sanitizer memcheck, $(basename "$program")" compute-sanitizer --target-processes all --tool memcheck --error-exitcode 9 "$program"
done
for tool in memcheck racecheck synccheck initcheck; do
    leg "compute-sanitizer $tool, op table" compute-sanitizer --target-processes all --tool $tool --error-exitcode 9 "$build/tests/ops/test_ops" "$device"
done

echo "check-gpu took $(($(date +%s) - started)) s: $passed passed, $failed failed"
[ $failed -eq 0 ]
