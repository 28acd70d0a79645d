#!/bin/sh
# check.sh - the legs of make check-cuda-emulated: for each build the self-test and the op tables in
# several orders of threads, the mutants, the kernels of tests/cuda, and the oracle's fixtures. The
# builds run in parallel, one leg of each at a time. The sanitizers are slow: without
# EMULATED_ORACLE=all the asan build skips evaluations and traces, and the tsan build does one
# training step of each position method.
# usage: tests/cuda_emulation/check.sh BUILD KIND…
set -u

build=$1
shift
emulated=$build/emulation
fixtures=tests/fixtures/oracle
limit=900 # seconds a leg may take: a kernel that never ends must not stop the check
started=$(date +%s)

# A sanitizer's first finding ends the program. ThreadSanitizer does not sleep at the end.
export TSAN_OPTIONS="halt_on_error=1:atexit_sleep_ms=0:exitcode=66"
export ASAN_OPTIONS="detect_leaks=0"

leg() { # name command..., of the build $kind
    name="$kind $1"
    log=$emulated/$kind.log
    shift
    from=$(date +%s%N)
    if [ "$1" = refuses ]; then "$@"; else timeout $limit "$@"; fi >"$log" 2>&1 </dev/null
    rc=$?
    ms=$((($(date +%s%N) - from) / 1000000))
    if [ $rc -eq 0 ]; then
        passed=$((passed + 1))
        printf '  ok    %6d ms  %s\n' $ms "$name"
    else
        failed=$((failed + 1))
        printf '  FAIL  %6d ms  %s (exit %d)\n' $ms "$name" $rc
        grep -vE '^\[ RUN|^\[  +OK|: ok \(' "$log" | tail -n 40 | sed 's/^/        /'
    fi
}

# Fixtures that the CUDA backend rejects: a head width that is not a multiple of 8, and sinks at cache positions.
refused="tisa_w20 sinks_rotary_w16"
computed=$(ls $fixtures/*.safetensors | grep -vE "/($(echo $refused | tr ' ' '|'))\.")
refuses() { # program: each of them must fail with "not supported", not with a wrong number
    lines=$("$1" --device cuda:emulated $(files $refused))
    echo "$lines"
    [ "$(echo "$lines" | grep -c 'FAIL .*not supported on cuda:emulated')" -eq $(echo $refused | wc -w) ]
}

files() { # names without .safetensors
    for name in "$@"; do echo "$fixtures/$name.safetensors"; done
}

check() { # kind: runs all its legs; writes how many passed and failed
    kind=$1
    passed=0
    failed=0
    case $kind in
    plain)
        orders="forward reverse 1" place=$build
        oracle=$computed
        ;;
    asan)
        orders=reverse place=build/asan
        oracle=$(echo "$computed" | grep -vE '/(eval|train_trace)_')
        ;;
    tsan)
        orders=1 place=$emulated/tsan
        oracle=$(files alibi_h4 sinusoidal_h4 rotary_plain_tied_finalnorm t5_plain_tied_finalnorm)
        ;;
    esac
    [ "${EMULATED_ORACLE:-}" = all ] && oracle=$computed
    for order in $orders; do
        leg "self-test, order $order" env EMULATION_ORDER=$order "$emulated/$kind/selftest"
    done
    leg "mutants" "$emulated/$kind/mutants"
    for program in tests/cuda/*.cu; do
        name=$(basename "$program" .cu)
        leg "kernels, $name" env EMULATION_ORDER=1 "$emulated/$kind/kernels/$name"
    done
    for order in $orders; do
        # In one order each op is checked, in the others kernels of this project follow products.
        device=cuda:emulated products="relu-absent sums-absent mask-absent"
        [ $order = forward ] && device=check:cuda:emulated products=
        leg "op table, order $order" env EMULATION_ORDER=$order EMULATION_PRODUCTS="$products" "$place/tests/ops/test_ops" $device
        leg "ops in bf16, order $order" env EMULATION_ORDER=$order EMULATION_PRODUCTS="$products" "$place/tests/ops/test_ops" --bf16 $device
    done
    leg "choices of products" "$place/tests/cuda_emulation/check_products"
    leg "graph capture" "$place/tests/ops/check_capture" cuda:emulated
    leg "oracle" "$place/tests/check_oracle" --device cuda:emulated $oracle
    [ "$kind" = plain ] && leg "oracle, what CUDA rejects" refuses "$place/tests/check_oracle"
    [ "$kind" = asan ] && leg "the paper's model at its sizes" "$place/tests/cuda_emulation/check_shapes"
    turns="three turns" # two backends may choose differently: tests that compare bits must restore the choices
    if [ "$kind" = plain ]; then
        for kb in 99 163; do # an RTX 4090, an A100; the asan build has an H100's 227
            leg "the paper's model at its sizes, $kb KB of shared memory" env EMULATION_SHARED=$kb "$place/tests/cuda_emulation/check_shapes"
        done
        leg "faults have their types" "$place/tests/cuda_emulation/check_faults"
        leg "20 updates as on the CPU" env EMULATION_PRODUCTS="$turns" "$place/tests/model/check_training" cuda:emulated
        leg "20 updates in bf16" "$place/tests/model/check_training" --bf16 cuda:emulated
        leg "scores in bf16" env EMULATION_PRODUCTS="$turns" "$place/tests/model/test_score" --bf16 cuda:emulated
        leg "passes as graphs" env EMULATION_PRODUCTS="$turns" "$place/tests/model/check_graphs" cuda:emulated
        leg "attempts as on the CPU" env EMULATION_PRODUCTS="$turns" "$place/tests/worker/check_device" cuda:emulated
        leg "whole program: a grid, GPUs too small, lost, left" sh tests/cuda_emulation/check_program.sh "$build"
        rm -f "$emulated/gpu.jsonl"
        leg "bench-gpu: each kind of case, a tiny model" env TINY=1 SECONDS_A_CASE=0 PYTHON=false RESULTS="$emulated/gpu.jsonl" \
            CASES=ceilings,ops-bf16,train-t5-512-bf16,train-alibi-512-fp32,eval-alibi-512-bf16,eval1-rotary-512-bf16,skip-alibi-3072,sliding-alibi-3072-bf16,repeat-alibi-1024-drop-bf16 tests/bench/bench_gpu.sh "$build" cuda:emulated
        leg "bench-gpu: shared scores and repeated updates are the same" sh -c 'test "$(grep -c "\"differ\":0" "$1")" = 3' sh "$emulated/gpu.jsonl"
        leg "bench-gpu: models take the memory that is planned" sh -c '! grep "\"model_bytes\"" "$1" | grep -vE "\"model_bytes\":([0-9]+),\"planned_bytes\":\1,"' sh "$emulated/gpu.jsonl"
        leg "bench-gpu: no op was refused" sh -c 'test -s "$1" && ! grep -o "\"op\":\"[^\"]*\",\"refused\":\"[^\"]*\"" "$1"' sh "$emulated/gpu.jsonl"
    fi
    echo "$passed $failed" >"$emulated/$kind.legs"
}

trap 'trap - INT TERM; kill 0' INT TERM
for kind in "$@"; do
    rm -f "$emulated/$kind.legs"
    check "$kind" &
done
wait
for kind in "$@"; do cat "$emulated/$kind.legs" || echo "0 1"; done >"$emulated/legs"
echo "check-cuda-emulated took $(($(date +%s) - started)) s: $(awk '{ p += $1; f += $2 } END { print p " passed, " f " failed" }' "$emulated/legs")"
awk '{ f += $2 } END { exit f > 0 || NR == 0 }' "$emulated/legs"
