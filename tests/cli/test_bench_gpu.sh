#!/bin/sh
# test_bench_gpu.sh - bench-gpu as a tool: cases selected, kept, skipped and rejected, on the CPU with a
# tiny model. Its measurements there mean nothing.
# usage: tests/cli/test_bench_gpu.sh BUILD
. tests/cli/expect.sh

build=$(cd "$1" && pwd)
bench=$PWD/tests/bench/bench_gpu.sh
program=$build/tests/bench/bench_gpu
export RESULTS="$dir/gpu.jsonl" TINY=1 SECONDS_A_CASE=0 PYTHON=false
cases() { env CASES="$1" "$bench" "$build" "${2:-cpu}"; }
lines() { wc -l <"$RESULTS"; }

[ "$("$program" --list | sort | uniq -d)" = "" ] || fail "two cases of one name"
for method in alibi sinusoidal rotary t5; do
    for length in 512 1024 3072; do
        for case in train-$method-$length-bf16 train-$method-$length-drop-fp32 eval-$method-$length-fp32 eval1-$method-512-fp32 eval1-$method-3072-bf16; do
            "$program" --list | grep -qx "$case" || fail "no case $case"
        done
    done
done

# A case is measured once per code version; REDO measures it again; nothing is overwritten.
expect 0 "of ceiling" cases ceilings,ops-fp32
[ "$(lines)" = 2 ] || fail "$(lines) lines of two cases"
expect 0 "train-t5-512-fp32" cases train-t5-512,train-alibi-512,train-rotary-512,train-sinusoidal-512
grep -q "position tax" "$dir/out" && grep -q "plain   fp32  [01]\.[0-9]*" "$dir/out" || fail "no position tax of four methods"
before=$(lines)
expect 0 "" cases train-t5-512
[ "$(lines)" = "$before" ] || fail "a case that is there was measured again"
expect 0 "" env REDO=1 CASES=train-t5-512-fp32 "$bench" "$build" cpu
[ "$(lines)" = $((before + 1)) ] || fail "REDO did not measure"

# One window at a time; scores of one pass for all lengths and of a pass for each; the same updates twice; checkpoints.
expect 0 "" cases eval1-alibi-15512-fp32,sliding-alibi-3072-fp32,repeat-t5-1024-drop-fp32,checkpoint
grep '"case":"eval1-alibi-15512-fp32"' "$RESULTS" | grep -q '"L":484,.*"batch_tokens":484,' || fail "not one window of 15,512 / 32 tokens"
grep '"case":"sliding-' "$RESULTS" | grep -q '"cells":40,"differ":0' || fail "a shared pass gives other scores"
grep '"case":"checkpoint-alibi-1024-fp32"' "$RESULTS" | grep -q '"pause_s":0\.' || fail "no pause of a checkpoint"
ls -d bench-gpu-* 2>/dev/null && fail "a folder of checkpoints is left"
grep '"case":"repeat-' "$RESULTS" | grep -q '"tensors_differ":0,"differ":0' || fail "the same updates give other bits"
grep '"case":"train-t5-512-fp32"' "$RESULTS" | grep -qE '"model_bytes":([0-9]+),"planned_bytes":\1,' || fail "opened for other than is planned"
expect 64 "not a case of steps" "$program" --case sliding-alibi-3072-fp32 --serve --device cpu --tiny

# A case that a device rejects is a result with its reason; a missing GPU too.
grep -q '"case":"train-alibi-512-bf16".*"refused":"cpu: computes in fp32 only' "$RESULTS" || fail "bf16 on the CPU is not refused in the results"
expect 0 "refused: cpu: computes in fp32 only" cases skip-alibi-1024,graphs
expect 69 "cuda:63" cases ceilings cuda:63
expect 64 "unknown case" "$program" --case train-alibi-777-fp32 --device cpu
echo "no json" >>"$RESULTS"
expect 65 "gpu.jsonl:$(lines)" "$program" --table "$RESULTS"

# PyTorch receives the weights and tokens, and steps on demand.
expect 0 "" "$program" --weights "$dir/weights" --tiny
printf '3\n2\n' | "$program" --case train-alibi-512-fp32 --device cpu --tiny --serve >"$dir/served"
[ "$(wc -l <"$dir/served")" = 3 ] || fail "$(wc -l <"$dir/served") answers"
numbers='\[[0-9.e-]+,[0-9.e-]+,[0-9.e-]+\]'
sed -n 2p "$dir/served" | grep -qE "^\{\"seconds\":$numbers,\"loss_nats\":$numbers,\"grad_norm\":$numbers\}\$" || fail "not three steps: $(sed -n 2p "$dir/served")"
loss=$(sed -n 's/.*"case":"train-alibi-512-fp32".*"loss_nats":\([0-9.]*\).*/\1/p' "$RESULTS")
sed -n 1p "$dir/served" | grep -qF "\"loss_nats\":$loss" || fail "served another loss than $loss"
# losses FILE - how many different losses the second line serves.
losses() { sed -n '2s/.*"loss_nats":\[\([^]]*\)\].*/\1/p' "$1" | tr , '\n' | sort -u | wc -l; }
[ "$(losses "$dir/served")" = 1 ] || fail "steps without dropout differ"
echo 3 | "$program" --case train-alibi-512-drop-fp32 --device cpu --tiny --serve >"$dir/dropped"
[ "$(losses "$dir/dropped")" = 3 ] || fail "three masks give $(losses "$dir/dropped") losses"

# With dropout, PyTorch is compared without it and then by the mean over masks; another recipe is rejected.
find_torch "peer_torch_gpu.py was not run" || { finish; exit; }
mkdir "$dir/peer"
cp tests/bench/peer_torch_gpu.py tests/bench/peer_model.py "$dir/peer/"
peer() {
    OMP_NUM_THREADS=1 "$python" "$dir/peer/peer_torch_gpu.py" --program "$program" --weights "$dir/weights" --device cpu --tiny --rounds 1 --budget 0 --case "$1"
}
expect 0 '"checked":{"loss_off":[0-9.e-]*,"norm_off":[0-9.e-]*,"masks":32,"drop_loss_nats"' peer train-t5-512-drop-fp32
expect 0 '"checked":{"loss_off":[0-9.e-]*,"norm_off":0.0}' peer eval1-rotary-3072-fp32
sed -i 's/^DROPOUT, .*/DROPOUT, DROPOUT_ATTENTION, DROPOUT_RELU, DROPOUT_SOFTMAX = 0.1, 0.1, 0.1, 0.2/' "$dir/peer/peer_model.py"
expect 0 '"disagrees":"[a-z ]*: mean loss_nats over 32 masks .*"refused":"no way' peer train-alibi-512-drop-fp32
sed -i 's/1e-5)$/1e-3)/' "$dir/peer/peer_model.py"
expect 0 '"disagrees":"[a-z ]*: loss [0-9.]* and norm .*"refused":"no way' peer train-alibi-512-drop-fp32

finish
