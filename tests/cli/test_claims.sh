#!/bin/sh
# test_claims.sh - the exit status of `alibi claims`: 0 if no claim is contradicted, another number if
# a result contradicts a claim. Runs that are missing contradict nothing.
# usage: tests/cli/test_claims.sh BUILD
. tests/cli/expect.sh

tiny_project
tiny_grid "$dir/planted" <<'Y'
artefact: planted
grid: [{ position: alibi, L_train: 16 }]
evaluate: [{ split: valid, window: nonoverlapping, L_valid: 16 }]
Y
# A claim that the perplexity is below a limit.
claim() {
    cat >"$dir/planted/claim.sql" <<Q
SELECT 'B' AS claim, 'Perplexity is below $1.' AS statement,
       CASE WHEN count(perplexity) = 0 THEN 'not run' WHEN max(perplexity) < $1 THEN 'supported' ELSE 'contradicted' END AS verdict,
       printf('%.2f', max(perplexity)) AS evidence
FROM artefact_evaluations WHERE artefact = :artefact AND scale = :scale
Q
}

claim 1e9
expect 66 "alibi run" "$alibi" claims "$dir/planted/"
expect 0 "" "$alibi" run "$dir/planted/" --devices cpu:1
expect 0 "B: supported" "$alibi" claims "$dir/planted/"
claim 1.5
expect 70 "B: contradicted" "$alibi" claims "$dir/planted/"
expect 70 "1 claim is contradicted" "$alibi" claims "$dir/planted/"
expect 0 "C7a: not run" "$alibi" claims table8

# A claim that denies an effect is not supported where no model could have shown the effect.
mkdir -p experiments/power
effect() {
    printf 'scale\tcorpus\tfingerprint\teffect\tshare\tmethod\tseeds\tcode\tsource\n' >experiments/power/effects.tsv
    printf 'none\ttiny\t\tcontext\t%s\tALiBi\t1\t\t\n' "$1" >>experiments/power/effects.tsv
}
claim 1e9
sed -i "s/AS evidence$/AS evidence, 'context' AS effect, 0.05 AS threshold/" "$dir/planted/claim.sql"
expect 0 "B: not judged" "$alibi" claims "$dir/planted/"
effect 0.026
expect 0 "not judged at this scale: the threshold is 5 %, and context is worth at most 2.6 %" "$alibi" claims "$dir/planted/"
expect 0 "0.05,0.026" "$alibi" claims "$dir/planted/" --format csv
effect 0.06
expect 0 "B: supported" "$alibi" claims "$dir/planted/"
effect much
expect 65 "effects.tsv:2: the share" "$alibi" claims "$dir/planted/"
rm -r experiments/power

# Claims about the paper alone need its numbers for this and other artefacts: every run registers them all. An invalid file of an
# artefact that is not run is only a warning.
expect 0 "X4: supported" "$alibi" claims table7
mkdir -p experiments/broken
cp "$dir/planted/grid.yaml" experiments/broken/
echo "no header" >experiments/broken/paper.tsv
expect 0 "warning: .*broken/paper.tsv:1:1" "$alibi" run "$dir/planted/" --devices cpu:1

finish
