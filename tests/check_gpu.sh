#!/bin/sh
# check_gpu.sh - the legs of make check-gpu: the backend's tests on a GPU, or on the emulated one. A leg that cannot run
# counts as failed. The smoke legs come first and take seconds.
# usage: tests/check_gpu.sh BUILD [DEVICE]     DEVICE: cuda:0 (default), cuda:1, cuda:emulated
#   LEGS="smoke oracle"   only legs whose name begins so, as in leg-NAME.log
#   SANITIZE=0            without compute-sanitizer, whose legs take most of the time (default on the emulator)
#   LIMIT=300             seconds a leg may take (the emulator: 900)
#   ORACLE=FOLDER         also check the fixtures there
#   RANKS=4               trainings on so many GPUs, from DEVICE on; without it on two, if this machine has them
#
# Writes BUILD/check-gpu/DEVICE/leg-NAME.log and appends a line for each leg to BUILD/check-gpu/check-gpu.jsonl: device,
# gpu, driver, library (cuBLASLt), code_id, date, leg, result, exit, ms.
set -u

build=$1
device=${2:-cuda:0}
fixtures=tests/fixtures/oracle
started=$(date +%s)

why=$("$build/alibi" devices --all | awk -v name="$device" '$1 == name { print; found = 1 } END { exit !found }') || why="$device: this machine has no such GPU"
case $why in
*"not usable"* | *"no such GPU"*)
    echo "check-gpu: no GPU to check on: $why" >&2
    exit 69
    ;;
esac
case $device in
cuda:emulated) own=$build/emulation/plain limit=${LIMIT:-900} sanitize=${SANITIZE:-0} driver=none ;;
*)
    own=$build/cuda limit=${LIMIT:-300} sanitize=${SANITIZE:-1}
    driver=$(grep -m 1 NVRM /proc/driver/nvidia/version 2>/dev/null | grep -oE '[0-9]+\.[0-9.]+' | head -n 1)
    ;;
esac
logs=$build/check-gpu/$(printf '%s' "$device" | tr : -)
jsonl=$build/check-gpu/check-gpu.jsonl
label=
mkdir -p "$logs"
. tests/legs.sh

about=$("$build/tests/ops/test_ops" --about "$device" 2>&1) # the GPU and the library, a line each
facts=$(facts device "$device" gpu "$(printf '%s\n' "$about" | sed -n 1p)" driver "${driver:-unknown}" \
    library "$(printf '%s\n' "$about" | sed -n 2p)" code_id "$("$build/alibi" --version | sed 's/^alibi //')")
printf '%s\n%s\n' "$why" "$about"

# Two backends may choose different products, as on a GPU: tests that compare bits must restore the choices. GPUs ignore this.
export EMULATION_PRODUCTS="${EMULATION_PRODUCTS-three turns}"

rejected=$(sed 's/#.*//; s/ .*//' $fixtures/refused_by_cuda.txt | xargs)
oracle() { # NAME FOLDER: its fixtures, but for those that the backend rejects
    name=$1 folder=$2
    set --
    for file in "$folder"/*.safetensors; do
        case " $rejected " in *" $(basename "$file" .safetensors) "*) continue ;; esac
        set -- "$@" "$file"
    done
    leg "$name" "$build/tests/check_oracle" --device "$device" "$@"
}
# Those must fail with "not supported", not with a wrong number.
# shellcheck disable=SC2016 # for the shell that runs it
count_rejected='lines=$(for name in $2; do "$0" --device "$1" "$3/$name.safetensors"; done)
echo "$lines"
[ "$(echo "$lines" | grep -c "FAIL .*not supported on $1")" -eq "$(echo $2 | wc -w)" ]'

leg "smoke, self-test of the primitives" "$own/selftest"
leg "smoke, ops in bf16" "$build/tests/ops/test_ops" --bf16 "$device"
leg "smoke, 20 updates as on the CPU" "$build/tests/model/check_training" "$device"
[ $failed -eq 0 ] || echo "check-gpu: a smoke leg failed; the other legs follow"
for program in "$own"/kernels/*; do leg "kernels, $(basename "$program")" "$program"; done
leg "op table" "$build/tests/ops/test_ops" "$device"
leg "op table, each op checked" "$build/tests/ops/test_ops" "check:$device"
leg "ops in bf16, each op checked" "$build/tests/ops/test_ops" --bf16 "check:$device"
oracle "oracle" $fixtures
leg "oracle, what CUDA rejects" sh -c "$count_rejected" "$build/tests/check_oracle" "$device" "$rejected" $fixtures
[ -z "${ORACLE:-}" ] || oracle "oracle $ORACLE" "$ORACLE"
leg "open models" "$build/tests/check_open" --device "$device" tests/fixtures/open/*/
leg "20 updates in bf16" "$build/tests/model/check_training" --bf16 "$device"
leg "scores" "$build/tests/model/test_score" "$device"
leg "scores in bf16" "$build/tests/model/test_score" --bf16 "$device"
leg "forms of the decoder" "$build/tests/model/test_forms" "$device"
leg "forms of the decoder in bf16" "$build/tests/model/test_forms" --bf16 "$device"
leg "graph capture" "$build/tests/ops/check_capture" "$device"
leg "passes as graphs" "$build/tests/model/check_graphs" "$device"
leg "attempts as on the CPU" "$build/tests/worker/check_device" "$device"
# A training on several GPUs leaves the files of one, by NCCL and through host memory; prints what an exchange moves in a
# second. A machine without NCCL fails the first leg, unless the caller has set ALIBI_NCCL=0.
case $device in
cuda:emulated) several=yes ;;
*) several=${RANKS:-$("$build/alibi" devices | grep "^cuda:$((${device#cuda:} + 1)) " | grep -v "not usable")} ;;
esac
if [ -n "$several" ]; then
    [ "${ALIBI_NCCL:-}" = 0 ] || leg "ranks as one device, by NCCL" "$build/tests/worker/check_ranks" "$device"
    leg "ranks as one device, through host memory" env ALIBI_NCCL=0 "$build/tests/worker/check_ranks" "$device"
else
    echo "check-gpu: \"ranks as one device\" was skipped: it needs a second GPU"
fi

# racecheck and synccheck look at the kernels of this project, whose names end in _k, and not at cuBLAS's. memcheck looks at
# all: a wrong size or place in a call of cuBLAS shows there. So does initcheck, which learns from the kernels it sees which
# bytes are written; a report counts if its line names a kernel of ours.
# shellcheck disable=SC2016 # for the shell that runs it
initcheck='status=$(mktemp)
{ compute-sanitizer --target-processes all --tool initcheck "$@"; echo $? >"$status"; } | awk "{ print } / (at|in) .*_k[<(]/ { ours++ } END { exit ours > 0 }"
rc=$?
ended=$(cat "$status")
rm "$status"
[ $rc -eq 0 ] && exit "$ended"
exit 9'
sanitize() { # NAME TOOL command...
    name="compute-sanitizer $2, $1" tool=$2
    shift 2
    case $tool in
    initcheck) set -- sh -c "$initcheck" sh "$@" ;;
    memcheck) set -- compute-sanitizer --target-processes all --tool "$tool" --error-exitcode 9 "$@" ;;
    *) set -- compute-sanitizer --target-processes all --tool "$tool" --kernel-name kns=_k --kernel-name-exclude kns=_kernel --error-exitcode 9 "$@" ;;
    esac
    leg "$name" "$@"
}
if [ "$sanitize" != 0 ] && ! command -v compute-sanitizer >/dev/null; then
    leg "compute-sanitizer" sh -c 'echo "compute-sanitizer is not in PATH: pip install nvidia-cuda-sanitizer-api puts it into nvidia/cu13/bin; SANITIZE=0 leaves it out"; exit 127'
elif [ "$sanitize" != 0 ]; then
    for program in "$own"/kernels/*; do
        case $program in *attention_formula) continue ;; esac # thousands of launches take too long
        sanitize "$(basename "$program")" memcheck "$program"
    done
    limit=$((3 * limit)) # the op table has more launches than all other legs
    for tool in memcheck racecheck synccheck initcheck; do sanitize "op table" $tool "$build/tests/ops/test_ops" "$device"; done
fi

[ $((passed + failed)) -gt 0 ] || { echo "check-gpu: LEGS=$LEGS: no leg has such a name" >&2; exit 64; }
echo "check-gpu took $(($(date +%s) - started)) s: $passed passed, $failed failed$([ "$sanitize" != 0 ] || echo ", without compute-sanitizer"); logs in $logs"
[ $failed -eq 0 ]
