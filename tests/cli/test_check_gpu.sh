#!/bin/sh
# test_check_gpu.sh - check-gpu as a tool: which legs it runs, what it counts, keeps and writes. The GPU and its programs
# are stubs; `make check-gpu DEVICE=cuda:emulated` runs the legs.
# usage: tests/cli/test_check_gpu.sh BUILD
. tests/cli/expect.sh

table=$(cd "$1" && pwd)/tests/bench/bench_gpu
fake=$dir/build
records=$fake/check-gpu/check-gpu.jsonl
logs=$fake/check-gpu/cuda-7
cat >"$dir/stub" <<'SH'
#!/bin/sh
printf '%s\n' "$(basename "$0") $*" >>"$CALLS"
case $(basename "$0"):$* in
alibi:--version) echo "alibi 0123456789ab" ;;
compute-sanitizer:*initcheck*) echo "=========     at ${BLAMED:-void cutlass::sgemm_kernel}<(float*)+0x70 in file.cu:1" ;;
alibi:*) printf 'cpu      a CPU  2 at a time\ncuda:7   GPU  1 at a time\ncuda:8   GPU  not usable: too old\n' ;;
test_ops:--about*) printf 'Odd "GPU" \\ \351\t\nlibrary\n' ;;
test_ops:--bf16*) [ -z "${WRONG:-}" ] || { echo "a line of the log"; exit 3; } ;;
test_score:*) [ -z "${SKIP:-}" ] || echo '[  SKIPPED ] scores' ;;
check_graphs:*) [ -z "${HANG:-}" ] || sleep 9 ;;
# The fixtures that are rejected come one at a time.
check_oracle:*) [ $# -gt 3 ] || [ -n "${ACCEPTS:-}" ] || { echo "$3: FAIL not supported on cuda:7"; exit 1; } ;;
esac
exit 0
SH
chmod +x "$dir/stub"
for program in alibi tests/ops/test_ops tests/ops/check_capture tests/check_oracle tests/check_open tests/model/check_training tests/model/test_score tests/model/test_forms \
    tests/model/check_graphs tests/worker/check_device tests/worker/check_ranks cuda/selftest cuda/kernels/attention_formula cuda/kernels/attention_skip bin/compute-sanitizer; do
    mkdir -p "$(dirname "$fake/$program")"
    cp "$dir/stub" "$fake/$program"
done
export CALLS="$dir/calls" PATH="$fake/bin:$PATH"
unset EMULATION_PRODUCTS LEGS ORACLE
check_gpu() { rm -f "$CALLS" "$records"; expect "$1" "$2" sh tests/check_gpu.sh "$fake" "${3:-cuda:7}"; }

# Every leg passes; the smoke legs come first, the sanitizers last.
check_gpu 0 " 24 passed, 0 failed"
[ "$(sed -n 's/.*"leg":"\([^"]*\)".*/\1/p' "$records" | cut -c 1-5 | uniq | tr '\n' ' ')" = "smoke kerne op ta ops i oracl open  20 up score forms graph passe attem compu " ] ||
    fail "another order of legs: $(sed -n 's/.*"leg":"\([^"]*\)".*/\1/p' "$records")"
[ "$(ls "$logs" | wc -l)" = "$(wc -l <"$records")" ] || fail "not a log for each leg"
grep -q "compute-sanitizer .*--tool racecheck .*--kernel-name kns=_k --kernel-name-exclude kns=_kernel .*test_ops cuda:7" "$CALLS" || fail "racecheck looks at kernels of cuBLAS"
grep -q "compute-sanitizer .*--kernel-name.*--tool memcheck\|--tool memcheck .*--kernel-name" "$CALLS" && fail "memcheck leaves kernels out"

# Reads of what a kernel of cuBLAS has written are wrong only in kernels of this project.
grep -q "compute-sanitizer .*--tool initcheck .*test_ops cuda:7" "$CALLS" || fail "initcheck does not run"
grep -q "compute-sanitizer .*--tool initcheck .*--kernel-name" "$CALLS" && fail "initcheck does not see what cuBLAS writes"

# Fixtures that CUDA rejects are not computed; their leg fails if one is accepted.
rejected=$(sed -n 's/^\([a-z][a-z0-9_]*\) .*/\1/p' tests/fixtures/oracle/refused_by_cuda.txt)
[ "$(grep '^check_oracle .* .* .*safetensors .*safetensors' "$CALLS" | grep -cF "$rejected")" = 0 ] || fail "the oracle's leg has fixtures that CUDA rejects"
[ "$(grep '^check_oracle .* .* .*safetensors .*safetensors' "$CALLS" | wc -w)" = "$(($(ls tests/fixtures/oracle/*.safetensors | wc -l) - $(echo "$rejected" | wc -l) + 3))" ] || fail "the oracle's leg lacks fixtures"
export ACCEPTS=1
LEGS=oracle check_gpu 1 "FAIL .*oracle, what CUDA rejects"
unset ACCEPTS

# Lines of JSON, whatever the names; the file grows.
sed 's/^{/{"case":"leg",/' "$records" >"$dir/lines"
expect 0 "" "$table" --table "$dir/lines"
grep -qF '{"device":"cuda:7","gpu":"Odd \"GPU\" \\ ","driver":"' "$records" || fail "no escaped name: $(head -n 1 "$records")"
grep -qE '"library":"library","code_id":"0123456789ab","date":"20[0-9TZ:-]*","leg":"oracle","result":"ok","exit":0,"ms":[0-9]+}$' "$records" || fail "no line of the oracle's leg"

# A failure, a skip and a hang each fail their leg and no other; the log stays.
WRONG=1 SKIP=1 HANG=1 LIMIT=1 SANITIZE=0 check_gpu 1 "FAIL .* passes as graphs (stopped after 1 s"
grep -q " 14 passed, 5 failed, without compute-sanitizer" "$dir/out" || { fail "not 5 failures"; cat "$dir/out"; }
grep -q "a smoke leg failed" "$dir/out" || fail "does not say that a smoke leg failed"
grep -q '"leg":"scores","result":"skipped"' "$records" || fail "a skip is not recorded"
grep -q '"leg":"smoke, ops in bf16","result":"failed","exit":3' "$records" || fail "a failure is not recorded"
[ "$(cat "$logs/leg-smoke-ops-in-bf16.log")" = "a line of the log" ] || fail "the log of a failed leg was replaced"

BLAMED=add_k LEGS=compute-sanitizer-initcheck check_gpu 1 "FAIL .*compute-sanitizer initcheck, op table (failed, exit 9"

# Without compute-sanitizer one leg fails, with the package that has it.
mv "$fake/bin" "$fake/none"
command -v compute-sanitizer >/dev/null || check_gpu 1 "compute-sanitizer is not in PATH: pip install"
command -v compute-sanitizer >/dev/null || grep -q " 19 passed, 1 failed" "$dir/out" || fail "not one failure: $(tail -n 1 "$dir/out")"
mv "$fake/none" "$fake/bin"

# Trainings on several GPUs run by NCCL and through host memory, or as the caller says.
ways() { sed -n 's/.*"leg":"ranks as one device, \([^"]*\)".*/\1/p' "$records" | tr '\n' ';'; }
RANKS=2 LEGS=ranks check_gpu 0 " 2 passed"
[ "$(ways)" = "by NCCL;through host memory;" ] || fail "legs of ranks: $(ways)"
ALIBI_NCCL=0 RANKS=2 LEGS=ranks check_gpu 0 " 1 passed"
[ "$(ways)" = "through host memory;" ] || fail "legs of ranks with ALIBI_NCCL=0: $(ways)"

LEGS="smoke scores-in" check_gpu 0 " 4 passed"
LEGS=smok-e check_gpu 64 "no leg has such a name"
check_gpu 69 "no GPU to check on: cuda:8 .*too old" cuda:8
check_gpu 69 "no GPU to check on: cuda:[.]: .*no such GPU" 'cuda:.'
finish
