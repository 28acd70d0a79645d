#!/bin/sh
# run.sh BUILD - measures the CPU backend and the scheduler.
#
# Everything that is compared alternates for ROUNDS rounds, so that load on the machine affects all alike. Prints medians
# over the rounds, in tokens a second. CASES chooses among:
#   steps      training and scoring steps of each of PROFILES with each of THREADS, compared with PyTorch if installed, from
#              the same weights and tokens. A PyTorch whose loss or gradient norm differs is not timed (peer_torch.py), and
#              the exit status is 65. PYTHONS lists the Pythons to try.
#   positions  the position methods on d128 and d256 (TAX_PROFILES) at each length of TAX_LENGTHS, in tokens a second of
#              CPU time, one thread: the cost of the slowest, and ALiBi relative to sinusoidal, which has no bias.
#   ranks      updates of RANKS_SHARDS (4) shards of d256 (RANKS_PROFILES): one thread, two threads, two processes of one thread,
#              and how much faster the processes are than the threads.
#   libraries  d256 (LIBRARY_PROFILE) with one thread: the products that the backend chooses, our own, and oneDNN for all gradients; shows
#              whether the choice is right on this processor.
#   open       scoring of checkpoint folders with the shapes of OPEN_MODELS and random weights (open_model.py, F32, or
#              OPEN_DTYPE), with each of THREADS and rows of each of OPEN_LENGTHS tokens, compared with transformers in the
#              first of PYTHONS that has it; memory beside the file's size. A transformers whose log p differ is not timed.
#   scheduler  overhead of the scheduler and of results.db (bench_scheduler.c), in a new folder in each of FOLDERS.
# KERNELS="v4 v3" measures steps with each of these instruction sets, v3 being AVX2 (default: the widest of this processor).
# Settings: CASES (steps), ROUNDS (3), SECONDS_A_TURN (2), PROFILES, THREADS, KERNELS, PYTHONS (TORCH_PYTHON python3 /usr/bin/python3),
# OUT (BUILD/bench), the folder for the line of every turn, FOLDERS (OUT and /dev/shm), RUNS (10000).
set -eu
build=${1:?usage: run.sh BUILD}
here=$(dirname "$0")
program=$build/tests/bench/bench_cpu
rounds=${ROUNDS:-3}
seconds=${SECONDS_A_TURN:-2}
profiles=${PROFILES:-d64 d64-long d128 d256 d512}
if [ -z "${THREADS:-}" ]; then
    THREADS=1
    [ "$(nproc)" -gt 1 ] && THREADS="1 2"
fi
out=${OUT:-$build/bench}
mkdir -p "$out"

# value KEY FILE - the median of a key's numbers over the lines of a file.
value() {
    sed -n "s/.*\"$1\": \([0-9.e+-]*\).*/\1/p" "$2" | sort -g |
        awk '{ v[NR] = $1 } END { if (NR) print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# find_torches - finds the Pythons that have PyTorch, one for each version.
find_torches() {
    torches=
    seen=
    for python in ${PYTHONS:-${TORCH_PYTHON:-} python3 /usr/bin/python3}; do
        version=$("$python" -c 'import torch; print(torch.__version__)' 2>/dev/null) || continue
        case " $seen " in *" $version "*) continue ;; esac
        seen="$seen $version"
        torches="$torches $python"
        echo "PyTorch $version: $python"
    done
    [ -n "$torches" ] ||
        echo "no PyTorch was found (PYTHONS): our own figures only"
}

# measure_steps PROFILE THREADS NAME - alternates all sides, one file a side; a PyTorch that disagrees gets a file .refused.
measure_steps() {
    rm -f "$3"-*.json "$3"-*.refused
    "$program" --profile "$1" --weights "$3.safetensors"
    for round in $(seq "$rounds"); do
        "$program" --profile "$1" --threads "$2" --seconds "$seconds" >> "$3-alibi.json"
        n=0
        for python in $torches; do
            n=$((n + 1))
            [ -e "$3-torch$n.refused" ] && continue
            "$python" "$here/peer_torch.py" --weights "$3.safetensors" --ours "$3-alibi.json" --seconds "$seconds" \
                >> "$3-torch$n.json" 2> "$3-torch$n.log" || mv "$3-torch$n.log" "$3-torch$n.refused"
        done
    done
    rm -f "$3.safetensors"
}

# print_peer PROFILE OURS THEIRS - prints their speeds, how far their loss and norm differ from ours, and the speed ratio.
print_peer() {
    printf '%-10s %-18s' "$1" "$(sed -n '1s/.*"side": "\([^"]*\)".*/\1/p' "$3")"
    for key in train_tok_s train_tok_cpu_s eval_tok_s eval_tok_cpu_s; do
        printf ' %10.0f' "$(value $key "$3")"
    done
    printf '  agrees: loss to %.0e, gradient norm to %.0e' "$(value loss_off "$3")" "$(value norm_off "$3")"
    printf '\n%-10s %-18s' "$1" '  ours / theirs'
    for key in train_tok_s train_tok_cpu_s eval_tok_s eval_tok_cpu_s; do
        printf ' %10s' "$(echo "$(value $key "$2") $(value $key "$3")" | awk '{ printf "%.2fx", $1 / $2 }')"
    done
    echo
}

# print_steps PROFILE NAME
print_steps() {
    ours=$2-alibi.json
    printf '%-10s %-18s' "$1" alibi
    for key in train_tok_s train_tok_cpu_s eval_tok_s eval_tok_cpu_s; do
        printf ' %10.0f' "$(value $key "$ours")"
    done
    for key in peak_gflops share_of_peak eval_share_of_peak; do value $key "$ours"; done |
        awk 'NR == 1 { printf " %8.1f", $1; next } { printf " %6.1f%%", 100 * $1 } END { print "" }'
    for theirs in "$2"-torch*.json; do
        [ -e "$theirs" ] || continue
        if [ -e "${theirs%.json}.refused" ]; then
            printf '%-10s not timed: %s\n' "$1" "$(tail -n 1 "${theirs%.json}.refused")"
            status=65
        else
            print_peer "$1" "$ours" "$theirs"
        fi
    done
}

# steps_of KERNELS - with one instruction set; "" is the widest.
steps_of() {
    [ -z "$1" ] || export ALIBI_KERNELS="$1"
    for threads in $THREADS; do
        echo
        echo "${1:+$1 kernels, }threads $threads; tokens a second, median of $rounds rounds (cpu: a second of processor time)"
        printf '%-10s %-18s %10s %10s %10s %10s %8s %7s %7s\n' profile side train 'train cpu' eval 'eval cpu' 'peak' \
            'train' 'eval'
        for profile in $profiles; do
            measure_steps "$profile" "$threads" "$out/$profile-$threads${1:+-$1}"
            print_steps "$profile" "$out/$profile-$threads${1:+-$1}"
        done
    done
}

steps() {
    find_torches
    for kernels in ${KERNELS:-}; do steps_of "$kernels"; done
    [ -n "${KERNELS:-}" ] || steps_of ""
}

# print_tax PROFILE LENGTH train|eval
print_tax() {
    printf '%-8s %6d %-6s' "$1" "$2" "$3"
    for position in sinusoidal rotary t5 alibi; do
        value "$3_tok_cpu_s" "$out/tax-$1-$2-$position.json"
    done | awk '{ v[NR] = $1; if (NR == 1 || $1 < low) low = $1; if ($1 > high) high = $1; printf " %10.0f", $1 }
                END { printf "  %15.3f %17.3f\n", low / high, v[4] / v[1] }'
}

positions() {
    echo "tokens a second of processor time, one thread, median of $rounds rounds"
    printf '%-8s %6s %-6s %10s %10s %10s %10s  %15s %17s\n' profile length pass sinusoidal rotary t5 alibi \
        slowest/fastest alibi/sinusoidal
    for profile in ${TAX_PROFILES:-d128 d256}; do
        for length in ${TAX_LENGTHS:-64 256 1024}; do
            rm -f "$out/tax-$profile-$length"-*.json
            for round in $(seq "$rounds"); do
                for position in sinusoidal rotary t5 alibi; do
                    "$program" --profile "$profile" --length "$length" --position "$position" --seconds "$seconds" \
                        >> "$out/tax-$profile-$length-$position.json"
                done
            done
            for pass in train eval; do print_tax "$profile" "$length" "$pass"; done
        done
    done
}

# measure_library NAME [option value]… - one measurement; the file of one that the processor lacks stays empty.
measure_library() {
    file=$out/library-$1.json
    shift
    "$program" --profile "${LIBRARY_PROFILE:-d256}" --seconds "$seconds" "$@" >> "$file" 2> "$file.log" || true
}

libraries() {
    rm -f "$out"/library-*.json*
    for round in $(seq "$rounds"); do
        measure_library chosen
        ALIBI_AVOID_BLAS=oneDNN measure_library own
        measure_library onednn --blas onednn
    done
    echo "${LIBRARY_PROFILE:-d256}, one thread, tokens a second of processor time, median of $rounds rounds"
    for name in chosen own onednn; do
        file=$out/library-$name.json
        if [ -s "$file" ]; then
            printf '%-16s %10.0f  %s\n' "$name" "$(value train_tok_cpu_s "$file")" \
                "$(sed -n '1s/.*"blas": "\([^"]*\)".*/\1/p' "$file")"
        else
            printf '%-16s %10s  %s\n' "$name" - "$(sed 's/^bench_cpu: //' "$file.log")"
            rm -f "$file"
        fi
    done
    best=$(for file in "$out"/library-*.json; do value train_tok_cpu_s "$file"; done | sort -g | tail -n 1)
    echo "chosen / the best of all: $(echo "$(value train_tok_cpu_s "$out/library-chosen.json") $best" |
        awk '{ printf "%.2f", $1 / $2 }')"
}

# find_transformers - sets $python to the first Python with transformers, PyTorch and safetensors, or to "".
find_transformers() {
    for python in ${PYTHONS:-${TORCH_PYTHON:-} python3 /usr/bin/python3}; do
        why=$("$python" -c 'import torch, transformers, safetensors.torch' 2>&1) && return 0
    done
    python=
    echo "transformers skipped: $(echo "$why" | tail -n 1) (PYTHONS)"
}

# measure_open MODEL THREADS LENGTH NAME - alternates both sides.
measure_open() {
    rm -f "$4"-*.json "$4"-*.refused
    for round in $(seq "$rounds"); do
        "$build/tests/bench/bench_open" --folder "$out/open-$1" --name "$1" --threads "$2" --length "$3" \
            --seconds "$seconds" --tokens "$4.safetensors" >> "$4-alibi.json"
        [ -n "$python" ] && [ ! -e "$4-torch.refused" ] || continue
        "$python" "$here/peer_open.py" --folder "$out/open-$1" --tokens "$4.safetensors" --ours "$4-alibi.json" \
            --seconds "$seconds" >> "$4-torch.json" 2> "$4-torch.log" || mv "$4-torch.log" "$4-torch.refused"
    done
    rm -f "$4.safetensors"
}

# print_open MODEL THREADS LENGTH NAME
print_open() {
    for side in alibi torch; do
        [ -e "$4-$side.json" ] || continue
        if [ -e "$4-$side.refused" ]; then
            echo "$1 $side not timed: $(tail -n 1 "$4-$side.refused")"
            status=65
            continue
        fi
        printf '%-12s %7d %7d %-6s %9.1f %9.1f %10.2f' "$1" "$2" "$3" "$side" "$(value eval_tok_s "$4-$side.json")" \
            "$(value eval_tok_cpu_s "$4-$side.json")" "$(echo "$(value peak_bytes "$4-$side.json")" \
                "$(value file_bytes "$4-alibi.json")" | awk '{ print $1 / $2 }')"
        [ "$side" = torch ] && printf '  ours / theirs %.2f, of CPU time %.2f; log p to %.0e' \
            "$(ratio eval_tok_s "$4")" "$(ratio eval_tok_cpu_s "$4")" "$(value logp_off "$4-torch.json")"
        echo
    done
}

# ratio KEY NAME - ours / theirs, the median over the rounds of each round's ratio.
ratio() {
    for side in alibi torch; do
        sed -n "s/.*\"$1\": \([0-9.e+-]*\).*/\1/p" "$2-$side.json" > "$2-$side.numbers"
    done
    paste "$2-alibi.numbers" "$2-torch.numbers" | awk '{ print $1 / $2 }' | sort -g |
        awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
    rm -f "$2-alibi.numbers" "$2-torch.numbers"
}

open() {
    find_transformers
    echo "scoring, tokens a second and tokens a second of processor time, medians of $rounds rounds; peak memory / file"
    printf '%-12s %7s %7s %-6s %9s %9s %10s\n' model threads length side eval 'eval cpu' memory
    for model in ${OPEN_MODELS:-pythia-160m bloom-560m}; do
        python3 "$here/open_model.py" "$model" "$out/open-$model" --dtype "${OPEN_DTYPE:-F32}"
        for threads in $THREADS; do
            for length in ${OPEN_LENGTHS:-512 2048}; do
                measure_open "$model" "$threads" "$length" "$out/$model-$threads-$length"
                print_open "$model" "$threads" "$length" "$out/$model-$threads-$length"
            done
        done
        rm -rf "$out/open-$model"
    done
}

ranks() {
    echo "updates of ${RANKS_SHARDS:-4} shards, tokens a second, medians of $rounds rounds"
    for profile in ${RANKS_PROFILES:-d256}; do
        name=$out/$profile-ranks
        rm -f "$name"-*.json
        for round in $(seq "$rounds"); do
            for side in 1-1 2-1 1-2; do
                "$program" --profile "$profile" --threads "${side%-*}" --ranks "${side#*-}" --shards "${RANKS_SHARDS:-4}" \
                    --seconds "$seconds" >>"$name-$side.json"
            done
        done
        for side in 1-1 2-1 1-2; do
            printf '%-8s threads %s ranks %s %9.0f\n' "$profile" "${side%-*}" "${side#*-}" "$(value train_tok_s "$name-$side.json")"
        done
        echo "$(value train_tok_s "$name-1-2.json") $(value train_tok_s "$name-2-1.json")" |
            awk -v p="$profile" '{ printf "%-8s ranks / threads %.2f\n", p, $1 / $2 }'
    done
}

scheduler() {
    for folder in ${FOLDERS:-$out /dev/shm}; do
        project=$(mktemp -d "$folder/scheduler-XXXXXX")
        echo "results.db and runs/ in $folder"
        "$build/tests/bench/bench_scheduler" "$build/alibi" "$project" "${RUNS:-10000}" || status=$?
        rm -rf "$project"
        echo
    done
}

status=0
for case in ${CASES:-steps}; do
    case $case in
    steps | positions | ranks | libraries | open | scheduler) "$case" ;;
    *) echo "run.sh: CASES=$case: expected steps, positions, ranks, libraries, open or scheduler" >&2; exit 64 ;;
    esac
    echo
done
last=$(ls -t "$out"/*.json 2>/dev/null | grep -v -e '-torch[0-9]*.json$' | head -n 1)
[ -n "$last" ] || exit $status
sed -n '1s/.*"device": "\([^"]*\)", "blas": "\([^"]*\)".*/\1; \2/p' "$out/${last##*/}"
echo "kept in $out/*.json"
exit $status
