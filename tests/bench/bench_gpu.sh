#!/bin/sh
# bench_gpu.sh - runs the cases of bench_gpu that a results file lacks for this code, then prints it.
# usage: tests/bench/bench_gpu.sh BUILD [DEVICE]
#
# CASES=ceilings,train-alibi-1024 only cases whose name begins so (default: all, the most informative
#                                 first; peer: comparisons with PyTorch, such as
#                                 peer-train-alibi-1024-drop-bf16, peer-eval1-t5-3072-bf16)
# REDO=1                          repeats cases that have results
# RESULTS=FILE                    default BUILD/bench/gpu.jsonl; one line a case, appended
# PYTHON=python3                  a Python that has PyTorch with CUDA; without it no peer-… cases
# TRAINED=FILE                    weights of a trained ALiBi model for the cases skip, whose results depend on them
# LIMIT=120                       seconds a case may take; three times that for PyTorch, which compiles
# TINY=1                          a model of milliseconds, for tests of the benchmark
set -u
build=${1:?usage: bench_gpu.sh BUILD [DEVICE]}
device=${2:-cuda:0}
here=$(dirname "$0")
program=$build/tests/bench/bench_gpu
results=${RESULTS:-$build/bench/gpu.jsonl}
python=${PYTHON:-python3}
limit=${LIMIT:-120}
peer_options=${PEER_OPTIONS:-}
tiny=${TINY:+--tiny}
code=$("$build/alibi" --version | sed 's/^alibi //')
weights=$build/bench/weights-$code${TINY:+-tiny}.safetensors
failures=0
mkdir -p "$build/bench" "$(dirname "$results")"

# wanted NAME - whether CASES includes it and the results lack it.
wanted() {
    if [ -n "${CASES:-}" ]; then
        hit=0
        for prefix in $(echo "$CASES" | tr , ' '); do
            case $1 in "$prefix" | "$prefix"-*) hit=1 ;; esac
        done
        [ $hit -eq 1 ] || return 1
    fi
    [ -n "${REDO:-}" ] && return 0
    ! grep -F "\"case\":\"$1\",\"device\":\"$device\"," "$results" 2>/dev/null | grep -qF "\"code_id\":\"$code\""
}

# keep NAME command… - runs a case and appends its line of JSON to the results; prints the error if it failed.
keep() {
    name=$1
    shift
    from=$(date +%s)
    timeout "$limit" "$@" >"$build/bench/line" 2>"$build/bench/log" </dev/null
    rc=$?
    if [ -s "$build/bench/line" ]; then
        tail -n 1 "$build/bench/line" >>"$results"
    else
        failures=$((failures + 1))
        echo "FAIL  $name: exit $rc: $(tail -n 1 "$build/bench/log")"
    fi
    why=$(sed -n 's/.*"refused":"\([^"]*\)".*/\1/p' "$build/bench/line")
    printf '%5d s  %s%s\n' $(($(date +%s) - from)) "$name" "${why:+: refused: $why}"
}

gpu=$(nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.limit,temperature.gpu --format=csv,noheader 2>/dev/null | head -n 1)
echo "bench_gpu: $device, ${gpu:-no nvidia-smi}, code $code, results in $results"
case $device in
cuda:[0-9]*)
    why=$("$build/alibi" devices | grep "^$device ") || why="$device: this machine has no such GPU"
    case $why in *"not usable"* | *"no such GPU"*) echo "bench_gpu: no GPU to measure on: $why" >&2; exit 69 ;; esac
    ;;
esac
for name in $("$program" --list); do
    if wanted "$name"; then keep "$name" "$program" --case "$name" --device "$device" --gpu "$gpu" $tiny ${TRAINED:+--trained "$TRAINED"} --seconds "${SECONDS_A_CASE:-2}"; fi
done
if "$python" -c 'import sys, torch; sys.exit(not (torch.cuda.is_available() or len(sys.argv) > 1))' $tiny 2>/dev/null; then
    limit=$((3 * limit))
    for name in $("$program" --list | grep -E '^(train|eval)'); do
        wanted "peer-$name" || continue
        [ -f "$weights" ] || { rm -f "$build"/bench/weights*.safetensors; "$program" --weights "$weights" $tiny; } || exit 1
        keep "peer-$name" "$python" "$here/peer_torch_gpu.py" --case "$name" --program "$program" --weights "$weights" \
            --device "$device" --gpu "$gpu" $tiny $peer_options
    done
else
    echo "$python has no PyTorch with CUDA: our own figures only"
fi
if [ -f "$results" ]; then "$program" --table "$results"; fi
[ $failures -eq 0 ]
