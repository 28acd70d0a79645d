#!/bin/sh
# run.sh BUILD - speed of the CPU backend, beside PyTorch where one is installed.
#
# For each profile and number of threads, our program and each PyTorch take turns for ROUNDS rounds
# (a turn each in every round, so that a busy machine is busy for both). Printed: medians over the
# rounds, and how many times faster ours is. Pythons tried: python3, /usr/bin/python3, and those of
# the space-separated list TORCH_PYTHON. Settings: ROUNDS (3), SECONDS_A_TURN (2), PROFILES, THREADS.
# The lines of every turn are kept in BUILD/bench/*.json.
set -eu
build=${1:?usage: run.sh BUILD}
here=$(dirname "$0")
rounds=${ROUNDS:-3}
seconds=${SECONDS_A_TURN:-2}
profiles=${PROFILES:-d64 d64-long d128 d256 d512}
if [ -z "${THREADS:-}" ]; then
    THREADS=1
    [ "$(nproc)" -gt 1 ] && THREADS="1 2"
fi
out=$build/bench
mkdir -p "$out"

# value KEY FILE - the median of a key's numbers over the lines of a file.
value() {
    sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p" "$2" | sort -n |
        awk '{ v[NR] = $1 } END { if (NR) print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# The Pythons that have a PyTorch, each PyTorch once.
torches=
seen=
for python in python3 /usr/bin/python3 ${TORCH_PYTHON:-}; do
    version=$("$python" -c 'import torch; print(torch.__version__)' 2>/dev/null) || continue
    case " $seen " in *" $version "*) continue ;; esac
    seen="$seen $version"
    torches="$torches $python"
    echo "PyTorch $version: $python"
done
[ -n "$torches" ] ||
    echo "no PyTorch was found (python3, /usr/bin/python3, TORCH_PYTHON): our own figures only"

for threads in $THREADS; do
    echo
    echo "threads $threads; tokens a second, median of $rounds rounds (cpu: a second of processor time)"
    printf '%-10s %-18s %10s %10s %10s %10s %8s %7s\n' \
        profile side train 'train cpu' eval 'eval cpu' GFLOP/s 'of peak'
    for profile in $profiles; do
        name=$out/$profile-$threads
        rm -f "$name"-*.json
        for round in $(seq "$rounds"); do
            "$build/tests/bench/bench_cpu" --profile "$profile" --threads "$threads" \
                --seconds "$seconds" >> "$name-alibi.json"
            n=0
            for python in $torches; do
                n=$((n + 1))
                "$python" "$here/peer_torch.py" --profile "$profile" --threads "$threads" \
                    --seconds "$seconds" >> "$name-torch$n.json"
            done
        done
        ours=$name-alibi.json
        printf '%-10s %-18s %10.0f %10.0f %10.0f %10.0f %8.1f %6.1f%%\n' "$profile" alibi \
            "$(value train_tok_s "$ours")" "$(value train_tok_cpu_s "$ours")" \
            "$(value eval_tok_s "$ours")" "$(value eval_tok_cpu_s "$ours")" \
            "$(value train_gflops "$ours")" \
            "$(value share_of_peak "$ours" | awk '{ print 100 * $1 }')"
        for theirs in "$name"-torch*.json; do
            [ -e "$theirs" ] || continue
            side=$(sed -n '1s/.*"side": "\([^"]*\)".*/\1/p' "$theirs")
            printf '%-10s %-18s' "$profile" "$side"
            for key in train_tok_s train_tok_cpu_s eval_tok_s eval_tok_cpu_s; do
                printf ' %10.0f' "$(value $key "$theirs")"
            done
            printf '\n%-10s %-18s' "$profile" '  ours / theirs'
            for key in train_tok_s train_tok_cpu_s eval_tok_s eval_tok_cpu_s; do
                printf ' %10s' "$(echo "$(value $key "$ours") $(value $key "$theirs")" |
                    awk '{ printf "%.2fx", $1 / $2 }')"
            done
            echo
        done
    done
done
echo
sed -n '1s/.*"device": "\([^"]*\)", "blas": "\([^"]*\)".*/\1; \2/p' "$ours"
echo "kept in $out/*.json"
