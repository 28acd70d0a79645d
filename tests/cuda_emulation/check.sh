#!/bin/sh
# check.sh - the legs of make check-cuda-emulated, in kinds that run in parallel, one leg of each at a time:
#   gpu               the legs of make check-gpu, on cuda:emulated (tests/check_gpu.sh)
#   plain asan tsan   what only the emulator can do, on one of its builds: self-test and op tables in several orders of
#                     threads, products of the library that are absent, mutants, faults; plain: the whole program
# The sanitizers are slow: without EMULATED_ORACLE=all the asan build skips evaluations and traces, and the tsan build
# does one training step of each position method.
# usage: tests/cuda_emulation/check.sh BUILD KIND…      EMULATION_ORDERS="reverse 1": those of the plain build
set -u

build=$1
shift
emulated=$build/emulation
fixtures=tests/fixtures/oracle
limit=900
started=$(date +%s)
. tests/legs.sh

# A sanitizer's first finding ends the program. ThreadSanitizer does not sleep at the end.
export TSAN_OPTIONS="halt_on_error=1:atexit_sleep_ms=0:exitcode=66"
export ASAN_OPTIONS="detect_leaks=0"

rejected=$(sed 's/#.*//; s/ .*//' $fixtures/refused_by_cuda.txt | xargs)
computed=$(ls $fixtures/*.safetensors | grep -vE "/($(echo "$rejected" | tr ' ' '|'))\.")
files() { # names without .safetensors
    for name in "$@"; do echo "$fixtures/$name.safetensors"; done
}

check_kind() { # kind: runs all its legs; writes how many passed and failed
    kind=$1 device=cuda:emulated
    label="$kind "
    facts=$(facts kind "$kind")
    logs=$emulated/logs-$kind
    jsonl=$logs/legs.jsonl
    rm -rf "$logs"
    mkdir -p "$logs"
    case $kind in
    gpu)
        sh tests/check_gpu.sh "$build" cuda:emulated | tee "$logs/out"
        sed -n 's/^check-gpu took .* s: \([0-9]*\) passed, \([0-9]*\) failed.*/\1 \2/p' "$logs/out" >"$emulated/$kind.legs"
        return
        ;;
    plain)
        orders=${EMULATION_ORDERS:-reverse 1} folder=$build device=check:cuda:emulated # which checks each op
        oracle=
        ;;
    asan)
        orders=reverse folder=build/asan
        oracle=$(echo "$computed" | grep -vE '/(eval|train_trace)_')
        ;;
    tsan)
        orders=1 folder=$emulated/tsan
        oracle=$(files alibi_h4 sinusoidal_h4 rotary_plain_tied_finalnorm t5_plain_tied_finalnorm)
        ;;
    esac
    [ "${EMULATED_ORACLE:-}" = all ] && oracle=$computed
    for order in $orders; do
        leg "self-test, order $order" env EMULATION_ORDER=$order "$emulated/$kind/selftest"
    done
    leg "mutants" "$emulated/$kind/mutants"
    for order in $orders; do
        # Kernels of this project follow products that have no epilogue.
        set -- env EMULATION_ORDER=$order EMULATION_PRODUCTS="relu-absent sums-absent mask-absent" "$folder/tests/ops/test_ops"
        leg "op table, order $order" "$@" $device
        leg "ops in bf16, order $order" "$@" --bf16 $device
    done
    leg "choices of products" "$folder/tests/cuda_emulation/check_products"
    [ "$kind" = tsan ] || leg "exchange between ranks" "$folder/tests/cuda_emulation/check_exchange"
    if [ "$kind" != plain ]; then # the legs of the kind gpu are those of the plain build
        for program in "$emulated/$kind"/kernels/*; do leg "kernels, $(basename "$program")" env EMULATION_ORDER=1 "$program"; done
        leg "graph capture" "$folder/tests/ops/check_capture" cuda:emulated
        leg "oracle" "$folder/tests/check_oracle" --device cuda:emulated $oracle
        leg "open models" "$folder/tests/check_open" --device cuda:emulated tests/fixtures/open/*/
    fi
    [ "$kind" = asan ] && leg "the paper's model at its sizes" "$folder/tests/cuda_emulation/check_shapes"
    if [ "$kind" = plain ]; then
        for kb in 99 163; do # an RTX 4090, an A100; the asan build has an H100's 227
            leg "the paper's model at its sizes, $kb KB of shared memory" env EMULATION_SHARED=$kb "$folder/tests/cuda_emulation/check_shapes"
        done
        leg "faults have their types" "$folder/tests/cuda_emulation/check_faults"
        leg "whole program: a grid, GPUs too small, lost, left" sh tests/cuda_emulation/check_program.sh "$build"
        rm -f "$emulated/gpu.jsonl"
        leg "bench-gpu: each kind of case, a tiny model" env TINY=1 SECONDS_A_CASE=0 PYTHON=false EMULATION_PRODUCTS=lazy RESULTS="$emulated/gpu.jsonl" \
            CASES=ceilings,ops-bf16,train-t5-512-bf16,train-alibi-512-fp32,eval-alibi-512-bf16,eval1-rotary-512-bf16,skip-alibi-3072,sliding-alibi-3072-bf16,repeat-alibi-1024-drop-bf16,graphs tests/bench/bench_gpu.sh "$build" cuda:emulated
        leg "bench-gpu: shared scores and repeated updates are the same" sh -c 'test "$(grep -c "\"differ\":0" "$1")" = 3' sh "$emulated/gpu.jsonl"
        leg "bench-gpu: models take the memory that is planned" sh -c '! grep "\"model_bytes\"" "$1" | grep -vE "\"model_bytes\":([0-9]+),\"planned_bytes\":\1,"' sh "$emulated/gpu.jsonl"
        leg "bench-gpu: kernels that the library loads do not count" sh -c '! grep "\"case\":\"train" "$1" | grep -v "\"planned_off\":0\.0[0-2]"' sh "$emulated/gpu.jsonl"
        leg "bench-gpu: updates of different batches use graphs" sh -c 'grep "\"case\":\"graphs" "$1" | grep -E "\"direct_passes\":[2-9],\"graphs_captured\":[2-9],"' sh "$emulated/gpu.jsonl"
        leg "bench-gpu: no op was refused" sh -c 'test -s "$1" && ! grep -o "\"op\":\"[^\"]*\",\"refused\":\"[^\"]*\"" "$1"' sh "$emulated/gpu.jsonl"
    fi
    echo "$passed $failed" >"$emulated/$kind.legs"
}

trap 'trap - INT TERM; kill 0' INT TERM
for kind in "$@"; do
    rm -f "$emulated/$kind.legs"
    check_kind "$kind" &
done
wait
for kind in "$@"; do grep . "$emulated/$kind.legs" || echo "0 1"; done >"$emulated/legs"
echo "check-cuda-emulated took $(($(date +%s) - started)) s: $(awk '{ p += $1; f += $2 } END { print p " passed, " f " failed" }' "$emulated/legs")"
awk '{ f += $2 } END { exit f > 0 || NR == 0 }' "$emulated/legs"
