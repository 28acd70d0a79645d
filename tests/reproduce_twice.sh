#!/bin/sh
# reproduce_twice.sh - runs artefacts twice, each time from nothing, and compares what must not differ: every row of every
# table, the verdicts that do not depend on speed or memory, and the weights. Speeds, memory and times vary from run to run:
# of those it compares only which are present.
# usage: tests/reproduce_twice.sh BUILD [ARTEFACT…]      SCALE, DEVICES as for make reproduce; without ARTEFACT all of them
set -u

alibi=$(cd "$1" && pwd)/alibi
shift
[ $# -gt 0 ] || set -- all
scale=${SCALE:-mini}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Claims whose verdict depends on speed or memory.
measured_claims="C3b C4 C5b C5c"

# Reads CSV on standard input. Replaces numbers of varying columns by "measured"; keeps only the name of measured claims.
still() {
    awk -v claims=" $measured_claims " '
    BEGIN {
        measured_head = "(wps|memory_bytes|hours)$|^(mfu|finished_at|x)$"
        n = split("value drawn ours_mean ours_std delta verdict", name, " ") # except perplexities
        for (i = 1; i <= n; i++) shown[name[i]] = 1
    }
    { # splits the line at commas outside quotes
        sub(/\r$/, "")
        fields = 0; field = ""; quoted = 0
        for (i = 1; i <= length($0); i++) {
            c = substr($0, i, 1)
            if (c == "\"") quoted = !quoted
            if (c == "," && !quoted) { cell[++fields] = field; field = "" } else field = field c
        }
        cell[++fields] = field
        if (NR == 1) for (i = 1; i <= fields; i++) { head[i] = cell[i]; at[cell[i]] = i }
        speed = "metric" in at ? cell[at["metric"]] != "perplexity" : !("perplexity" in at) && !("claim" in at)
        line = ""
        for (i = 1; i <= fields; i++) {
            vary = head[i] ~ measured_head || speed && head[i] in shown
            if ("claim" in at && index(claims, " " cell[at["claim"]] " ")) vary = i > at["claim"]
            line = line (i > 1 ? "," : "") (NR > 1 && vary && cell[i] != "" ? "measured" : cell[i])
        }
        print line
    }'
}

for turn in 1 2; do
    echo "turn $turn"
    mkdir "$dir/$turn"
    "$alibi" run "$@" --scale "$scale" --devices "${DEVICES:-auto}" --project "$dir/$turn" --quiet || exit 1
    "$alibi" query "SELECT DISTINCT artefact FROM artefact_points ORDER BY 1" --format csv --project "$dir/$turn" |
        tr -d '\r' | tail -n +2 >"$dir/$turn/artefacts"
    while read -r artefact; do
        "$alibi" report "$artefact" --scale "$scale" --format csv --no-figure --project "$dir/$turn" </dev/null >"$dir/rows" || exit 1
        echo "$artefact"
        still <"$dir/rows"
    done <"$dir/$turn/artefacts" >"$dir/$turn/tables"
    "$alibi" query "SELECT artefact, claim, verdict, evidence FROM claims ORDER BY 1, 2" --format csv --project "$dir/$turn" >"$dir/rows" || exit 1
    still <"$dir/rows" >"$dir/$turn/claims"
    "$alibi" query "SELECT run_id, updates, parameters, final_loss_nats, best_sha256, last_sha256 FROM trainings ORDER BY run_id" \
        --format csv --project "$dir/$turn" >"$dir/$turn/weights" || exit 1
done

differ=0
for part in artefacts tables claims weights; do
    cmp -s "$dir/1/$part" "$dir/2/$part" && continue
    differ=1
    echo "reproduce_twice: $part differ:"
    diff "$dir/1/$part" "$dir/2/$part" | head -n 20
done
[ $differ -eq 0 ] || exit 1
echo "the same twice: $(wc -l <"$dir/1/artefacts") artefacts, $(wc -l <"$dir/1/tables") lines of tables, $(($(wc -l <"$dir/1/claims") - 1)) claims, $(($(wc -l <"$dir/1/weights") - 1)) trainings with the same weights"
