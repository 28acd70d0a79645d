#!/bin/sh
# test_bench_cpu.sh - bench as a tool: programs that do not start from the same numbers are not timed. Its measurements here mean
# nothing.
# usage: tests/cli/test_bench_cpu.sh BUILD        TORCH_PYTHON=/path/python: one that can import torch, looked at first
. tests/cli/expect.sh

build=$(cd "$1" && pwd)
program=$build/tests/bench/bench_cpu
[ -x "$program" ] || { echo "skipped: $program is not built (make tests)"; exit 0; }
export OUT="$dir/bench" ROUNDS=1 SECONDS_A_TURN=0 THREADS=1 PROFILES=d64 PYTHONS="$dir/python"
mkdir "$OUT"

# A PyTorch that starts from our numbers, and one that does not.
cat >"$dir/python" <<'END'
#!/bin/sh
case $1 in -c) echo 9.9; exit 0 ;; esac
[ -n "${AGREES:-}" ] || { echo "peer_torch: loss 7 and norm 1, ours 8 and 1" >&2; exit 65; }
echo '{"side": "torch 9.9", "train_tok_s": 10, "train_tok_cpu_s": 10, "eval_tok_s": 10, "eval_tok_cpu_s": 10, "peak_bytes": 9, "logp_off": 2e-06, "loss_off": 3e-08, "norm_off": 2e-07}'
END
chmod +x "$dir/python"
printf '#!/bin/sh\necho "No module named torch" >&2\nexit 1\n' >"$dir/none"
chmod +x "$dir/none"
expect 65 "not timed: peer_torch: loss 7 and norm 1, ours 8" tests/bench/run.sh "$build"
grep -q "ours / theirs" "$dir/out" && fail "a ratio without agreement"
expect 0 "agrees: loss to 3e-08, gradient norm to 2e-07" env AGREES=1 tests/bench/run.sh "$build"
grep -qE "ours / theirs +[0-9.]+x" "$dir/out" || fail "no ratio where the numbers agree"
# An instruction set that the processor lacks, or may not use, is never executed.
expect 64 "ALIBI_KERNELS=v9: this processor lacks them" env ALIBI_KERNELS=v9 "$program" --profile d64 --seconds 0
expect 69 "oneDNN needs more than the base kernels" env ALIBI_KERNELS=base "$program" --profile d64 --seconds 0 --blas onednn
expect 64 "blas openblas: expected onednn" "$program" --profile d64 --seconds 0 --blas openblas
expect 0 "onednn  *-  oneDNN needs more than the base kernels" \
    env ALIBI_KERNELS=base LIBRARY_PROFILE=d64 CASES=libraries tests/bench/run.sh "$build"
grep -qE "^chosen +[1-9]" "$dir/out" || fail "libraries does not measure the choice"
expect 0 "base kernels, threads 1;" env AGREES=1 KERNELS=base tests/bench/run.sh "$build"
expect 0 "slowest/fastest" env CASES=positions TAX_PROFILES=d128 TAX_LENGTHS=8 tests/bench/run.sh "$build"
expect 0 "ranks / threads [0-9]" env CASES=ranks RANKS_PROFILES=d64 tests/bench/run.sh "$build"
expect 0 "overhead per run while query and report read" env CASES=scheduler RUNS=250 FOLDERS="$dir" tests/bench/run.sh "$build"
open() { expect "$1" "$2" env CASES=open OPEN_MODELS=bloom-tiny OPEN_LENGTHS=32 "$3" tests/bench/run.sh "$build"; }
open 65 "bloom-tiny torch not timed: peer_torch: loss 7" PYTHONS="$dir/python"
grep -qE "^bloom-tiny +1 +32 alibi +[1-9]" "$dir/out" || fail "open does not measure this program"
open 0 "ours / theirs [0-9.]*, of CPU time [0-9.]*; log p to 2e-06" AGREES=1
open 0 "transformers skipped: .*No module named" PYTHONS="$dir/none"
expect 64 "CASES=fast" env CASES=fast tests/bench/run.sh "$build"
expect 64 "expected --profile d64" "$program" --profile d63

# The real one accepts our weights and tokens, and rejects those of another case.
find_torch "peer_torch.py was not run" || { finish; exit; }
peer() { "$python" tests/bench/peer_torch.py --weights "$dir/weights" --ours "$dir/$1" --seconds 0; }
expect 0 "" "$program" --profile d64 --weights "$dir/weights"
"$program" --profile d64 --seconds 0 >"$dir/ours"
"$program" --profile d64 --position sinusoidal --seconds 0 >"$dir/other"
expect 0 '"loss_off": [0-9.e-]*,' peer ours
expect 65 "loss 7.98.* and norm .*, ours" peer other

finish
