#!/bin/sh
# test_bench_goals.sh - the goals at the end of bench_gpu --table, from a file of results made here: the measured value and
# the distance to the goal follow from its numbers.
# usage: tests/cli/test_bench_goals.sh BUILD
. tests/cli/expect.sh

program=$(cd "$1" && pwd)/tests/bench/bench_gpu
results=$dir/results.jsonl

line() { printf '{"case":"%s","precision":"bf16",%s}\n' "$1" "$2" >>"$results"; }

# A file with every goal's cases. Methods and lengths have different numbers, so that the worst is known.
all_measured() {
    : >"$results"
    n=0
    for length in 512 1024 3072; do
        for method in alibi sinusoidal rotary t5; do
            n=$((n + 1))
            step="\"wps\":$((350000 - n)),\"tflops\":$((500 + n)),\"peak_memory_bytes\":$((8000000000 + n * 1000000)),\"planned_off\":0.00$n,\"queue_s\":0.0000$((10 + n)),\"first_step_s\":1.25"
            line train-$method-$length-bf16 "$step,\"median_s\":0.0200"
            line train-$method-$length-drop-bf16 "\"median_s\":0.0202"
            for case in train-$method-$length train-$method-$length-drop eval1-$method-$length; do
                line peer-$case-bf16 "\"torch_median_s\":0.0${n}9,\"ours_median_s\":0.00${n}3,\"ours_peak_bytes\":7,\"torch_peak_bytes\":$((20 + n))"
            done
            line eval-$method-$length-bf16 '"wps":1200000'
            line repeat-$method-$length-drop-bf16 '"differ":0'
            line skip-$method-$length-bf16 '"most_nats":0.0'
        done
    done
    sed -i 's/\("case":"train-alibi-3072-bf16".*"wps":\)[0-9]*/\1357000/' "$results"
    line checkpoint-alibi-1024-bf16 '"pause_s":0.15'
    line update-alibi-1024-bf16 '"tflops":600.5'
    line eval-alibi-16384-bf16 '"wps":900000'
    line skip-alibi-16384-bf16 '"most_nats":1e-7'
    line sliding-alibi-3072-bf16 '"longest_target_s":0.003,"tables_together_s":0.55,"tables_apart_s":1.0,"differ":0'
}
table() { "$program" --table "$results" >"$dir/out" || fail "--table exited $?"; }
# goal ID WHAT: its line; verdict ID WHAT TEXT: what follows the unit of what was measured.
goal() { grep "^$1  *$2" "$dir/out"; }
verdict() {
    goal "$1" "$2" | grep -qE " $3\$" || fail "$1 $2: expected '$3': $(goal "$1" "$2")"
}
calculate() { awk "BEGIN { printf \"$1\", $2 }"; }

all_measured
table
goals=$(sed -n '/^goals of one H200/,$p' "$dir/out" | grep -cE '^[GEMS][0-9]+ ')
met=$(grep -cE '^[GEMS][0-9]+ .* met$' "$dir/out")
[ "$goals" -ge 27 ] && [ "$met" = "$goals" ] || { fail "$met of $goals goals are met"; cat "$dir/out"; }
verdict G1 "training, ALiBi" "$(calculate %.4g "505 / 9.895") % *met"
verdict G5 "training: slowest" "$(calculate %.4g "349989 / 357000") *met"
verdict G12 "host before" "$(calculate %.4g "22") us *met"
verdict E5 "stride 1" "$(calculate %.4g "0.003 * 217646") s *met"
verdict M1 "the same" "$(calculate %.4g "8001 / 8012") *met"
verdict M3 "peak memory over" "$(calculate %.4g "7 / 21") *met"

# The last line of a case counts. One slow method, one that uses much memory, one for which PyTorch is fast.
line train-rotary-1024-bf16 '"wps":300000,"tflops":400,"peak_memory_bytes":9000000000,"planned_off":0.06,"queue_s":0.00025,"median_s":0.019'
line skip-alibi-1024-bf16 '"live_share":0.5,"skipping_s":0.01,"dense_s":0.02,"most_nats":5e-6,"trained":"some.safetensors"'
line peer-eval1-t5-512-bf16 '"torch_median_s":0.015,"ours_median_s":0.010'
line repeat-t5-1024-drop-bf16 '"differ":3'
table
verdict G5 "training: slowest" "missed by $(calculate %.3g "100 * (1 - 300000 / 349995 / 0.97)") %"
verdict G4 "a step with dropout" "missed by $(calculate %.3g "100 * (0.0202 / 0.019 / 1.03 - 1)") %"
verdict G12 "host before" "missed by $(calculate %.3g "100 * (250 / 100 - 1)") %"
verdict M1 "peak memory" "missed by $(calculate %.3g "100 * (9.0 / 8.5 - 1)") %"
verdict M1 "the same" "missed by $(calculate %.3g "100 * (1 - 8.001 / 9.0 / 0.98)") %"
verdict M4 "planned memory" "missed by 100 %"
verdict E4 "one window" "missed by 25 %"
verdict E9 "NLL changed" "missed by 400 %"
grep -qE "^skip-alibi-1024-bf16 +50.0% +10.000 +20.000 +5e-06  some.safetensors\$" "$dir/out" || fail "no line of what ALiBi leaves out"
verdict G10 "the same updates" "missed by 3"
verdict G1 "training, ALiBi" "met"

# Another GPU: goals scale with its peak FLOP/s; a GPU without a data sheet has none.
cp "$results" "$dir/h200.jsonl"
sed -i 's/"case":/"gpu":"NVIDIA GeForce RTX 4090","case":/' "$results"
table
grep -q "^goals of one NVIDIA GeForce RTX 4090" "$dir/out" || fail "goals of no RTX 4090"
verdict E1 "evaluation, ALiBi" ">= 1.753e[+]05 .* met"
sed -i 's/GeForce RTX 4090/Quadro/' "$results"
table
grep -q "^G1 " "$dir/out" && fail "a GPU without a data sheet has a share of its peak"
cp "$dir/h200.jsonl" "$results"

# A rejected case, one of the tiny model and a missing one are not measured; the others are judged.
line peer-train-alibi-512-bf16 '"refused":"no way of PyTorch gives our numbers"'
line update-alibi-1024-bf16 '"tiny":true,"tflops":600.5'
sed -i '/"case":"sliding-/d' "$results"
table
verdict G3 "training, ALiBi and sinusoidal" "met, 5 of 6 cases"
verdict G2 "the paper" "not measured"
verdict E7 "scores of shared" "not measured"
: >"$results"
line train-alibi-3072-bf16 '"wps":300000'
table
verdict G5 "training: slowest" "not measured"
: >"$results"
table
[ "$(grep -c 'not measured$' "$dir/out")" = "$goals" ] || fail "an empty file measures something"

finish
