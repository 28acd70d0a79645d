#!/bin/sh
# test_bench_gpu.sh - bench-gpu as a tool: cases chosen, kept, skipped and refused, on the CPU with a
# model of milliseconds. What it measures there means nothing.
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
        for case in train-$method-$length-bf16 train-$method-$length-drop-fp32 eval-$method-$length-fp32; do
            "$program" --list | grep -qx "$case" || fail "no case $case"
        done
    done
done

# A case is measured once for each code; REDO measures it again; nothing is ever overwritten.
expect 0 "of ceiling" cases ceilings,ops-fp32
[ "$(lines)" = 2 ] || fail "$(lines) lines of two cases"
expect 0 "train-t5-512-fp32" cases train-t5-512,train-alibi-512,train-rotary-512,train-sinusoidal-512
grep -q "position tax" "$dir/out" && grep -q "plain   fp32  [01]\.[0-9]*" "$dir/out" || fail "no position tax of four methods"
before=$(lines)
expect 0 "" cases train-t5-512
[ "$(lines)" = "$before" ] || fail "a case that is there was measured again"
expect 0 "" env REDO=1 CASES=train-t5-512-fp32 "$bench" "$build" cpu
[ "$(lines)" = $((before + 1)) ] || fail "REDO did not measure"

# What a device refuses is a result with its reason, and so is no GPU at all.
grep -q '"case":"train-alibi-512-bf16".*"refused":"cpu: computes in fp32 only' "$RESULTS" || fail "bf16 on the CPU is not refused in the results"
expect 69 "cuda:63" cases ceilings cuda:63
expect 64 "not a case" "$program" --case train-alibi-777-fp32 --device cpu
echo "no json" >>"$RESULTS"
expect 65 "gpu.jsonl:$(lines)" "$program" --table "$RESULTS"

# The other side gets the weights and tokens, and steps on demand.
expect 0 "" "$program" --weights "$dir/weights" --tiny
printf '3\n2\n' | "$program" --case train-alibi-512-fp32 --device cpu --tiny --serve >"$dir/served"
[ "$(wc -l <"$dir/served")" = 3 ] || fail "$(wc -l <"$dir/served") answers"
sed -n 2p "$dir/served" | grep -qE '^\{"seconds":\[[0-9.e-]+,[0-9.e-]+,[0-9.e-]+\]\}$' || fail "not three seconds: $(sed -n 2p "$dir/served")"
loss=$(sed -n 's/.*"case":"train-alibi-512-fp32".*"loss_nats":\([0-9.]*\).*/\1/p' "$RESULTS")
sed -n 1p "$dir/served" | grep -qF "\"loss_nats\":$loss" || fail "served another loss than $loss"

finish
