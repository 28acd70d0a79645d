#!/bin/sh
# test_commands.sh - commands as users run them: answers, errors with exit statuses, a small grid outside the tree.
# usage: tests/cli/test_commands.sh BUILD
. tests/cli/expect.sh

mkdir "$dir/project"
cd "$dir/project" || exit 1

# Help and settings word for word, and errors on the command line.
{
    "$alibi" --help
    "$alibi" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | while read -r command; do
        printf '\n'
        "$alibi" "$command" --help
    done
} >"$dir/out"
golden help.txt
expect 0 "" "$alibi" settings
golden settings.txt

# A position method has its keys, also those that another one has too.
expect 0 "^  method   rotary, xpos" "$alibi" settings xpos
[ "$(grep -c '^model\.' "$dir/out")" -eq 3 ] || fail "settings xpos: expected its 3 keys"
expect 0 "sinusoidal has no keys of its own" "$alibi" settings sinusoidal

# The help of settings lists the short names that keys have.
for part in model data train eval bench; do "$alibi" settings $part.; done | sed -n 's/^  short    //p' | sort >"$dir/short"
"$alibi" settings --help | sed -n '/Short names:/,/\.$/p' | sed 's/.*Short names://; s/\.$//' | tr -s ' ' '\n' | grep . | sort >"$dir/out"
diff "$dir/short" "$dir/out" || fail "settings --help lists other short names than the keys have"
expect 0 "alibi " "$alibi" --version
transcript errors.txt

# The paper's plan needs neither corpus nor GPU; running it on a CPU needs confirmation.
expect 0 "22 trainings" "$alibi" plan table5 --scale paper
expect 0 "246,933,504" "$alibi" plan table5 --scale paper
# GPUs that this machine does not have; a device that it lacks is a note.
{
    paper="--scale paper --set train.precision=bf16"
    "$alibi" plan table5 $paper --devices h100x8 --budget 1d --only "position=alibi|sinusoidal"
    "$alibi" plan table5 $paper --devices "RTX 4090X1" --set model.dim=4096 --set model.heads=32 --only L_train=512 --budget 90m
    "$alibi" plan table5 $paper --devices h100x8 --ranks 4 --budget 6h --only position=alibi,L_train=512
    "$alibi" plan table5 --devices a6000
} | sed -n '/ L_train /p; / \(alibi\|sinusoidal\) .* \(64\|512\|3072\) /p; /^about/,/^table5/p' >"$dir/out"
golden plan_gpus.txt
expect 0 "note: the attention of 22 bf16 runs does not use the tensor cores" "$alibi" plan table5 --scale paper --set train.precision=bf16 --set model.dim=1088 --devices h100
for key in model.temperature=ssmax model.position=forget_gate; do
    expect 0 "modelled, not measured" "$alibi" plan table5 --scale paper --set train.precision=bf16 --set $key --devices h100
    grep -q "does not use the tensor cores" "$dir/out" && fail "plan: the attention of $key does not use the tensor cores"
done
expect 0 "note: --devices cuda:7: " "$alibi" plan table5 --devices cuda:7
expect 0 "cores*, 1 at a time; estimated from the device" "$alibi" plan table5 --devices cpu:1
expect 0 "the exchange of gradients and weights is not counted" "$alibi" plan table5 --scale paper --devices cpu:1
expect 0 "note: --ranks 2 takes as many devices, but cpu has 1" "$alibi" plan shards --devices cpu:1 --only train.shards=16 --ranks 2
expect 64 "--ranks: run .*: 3 ranks for train.shards = 8; use 2 or 4" "$alibi" plan table5 --scale paper --ranks 3
expect 64 "years" "$alibi" run table5 --scale paper --devices cpu
expect 69 "cuda" "$alibi" run table5 --devices cuda:7
"$alibi" plan table5 --scale paper --configs >"$dir/out"
[ "$(wc -l <"$dir/out")" -eq 72 ] || fail "plan table5 --configs: not 72 lines"
expect 0 "72 of 72 runs are not the paper's" "$alibi" plan table5 --scale paper --set train.lr=2
expect 0 " 11 GB    2.0 GB" "$alibi" plan table5 --scale paper --set train.precision=bf16
expect 0 "note: train.precision=bf16.*--set train.precision=fp32" "$alibi" plan table5 --devices cpu --set train.precision=bf16
expect 69 "cuda:7" "$alibi" run table5 --devices cuda:7 --set train.precision=bf16
[ ! -e runs ] || fail "a refused run left a folder"

# A user's grid outside the tree, on the user's text.
mkdir "$dir/text" "$dir/mygrid"
awk 'BEGIN { srand(1); split("train valid test", f, " "); n["train"] = 1500; n["valid"] = 150; n["test"] = 150
    for (k = 1; k <= 3; k++) for (i = 0; i < n[f[k]]; i++) { line = ""; w = int(rand() * 40)
        for (j = 0; j < 12; j++) { w = (w * 7 + int(rand() * 3)) % 40; line = line " w" w }
        print line " ." > ("'"$dir"'/text/" f[k] ".txt") } }'
cat >"$dir/mygrid/grid.yaml" <<'Y'
artefact: mygrid
title: "A grid of my own"
scale: none
base: [data/mytext.yaml]
set:
  model: { layers: 1, dim: 32, heads: 4, ffn: 64, softmax: plain, final_norm: true }
  train: { shard_tokens: 256, updates: 60, lr: 0.5, warmup: 10, period: 50, clip: 0.1, seed: 1, momentum: 0.9 }
grid:
  - { position: [alibi, sinusoidal], L_train: [16] }
evaluate:
  - { split: valid, window: nonoverlapping, L_valid: { from: L_train, add: [0, 16, 112] } }
  - { where: { position: alibi }, split: valid, window: sliding, stride: 1, L_valid: [16, 32], targets: 64 }
Y
expect 65 "data prepare" "$alibi" run "$dir/mygrid/"
expect 66 "contains none of the files train.txt, valid.txt, test.txt$" "$alibi" data prepare mytext --text "$dir/mygrid"
expect 0 "data/mytext.yaml" "$alibi" data prepare mytext --text "$dir/text"
expect 0 "all files match their hashes" "$alibi" data verify mytext
expect 0 "2 trainings, 8 evaluations" "$alibi" plan "$dir/mygrid/"
expect 0 "" "$alibi" run "$dir/mygrid/" --devices cpu:2
expect 0 "10 done, 0 to do" "$alibi" plan "$dir/mygrid/"
expect 0 "^8$" "$alibi" query "SELECT count(*) FROM evaluations WHERE perplexity > 1 AND nonfinite = 0" --format csv
expect 0 "^64$" "$alibi" query "SELECT DISTINCT tokens FROM evaluations WHERE protocol = 'sliding'" --format csv
expect 0 "intact" "$alibi" verify
expect 0 "" "$alibi" status
run=$("$alibi" query "SELECT run_id FROM trainings WHERE position = 'alibi'" --format csv | tail -n 1)
expect 0 "train.updates=60" "$alibi" show "$run"
[ "$(grep -c '^result$' "$dir/out")" -eq 1 ] || fail "show: not one result"
grep -q "^  step *60$" "$dir/out" || fail "show does not say what was last recorded"
# How a perplexity is computed; sliding over 64 targets, as in the grid.
nonoverlapping=$("$alibi" query "SELECT run_id FROM evaluations WHERE protocol = 'nonoverlapping' AND L_valid = 32" --format csv | tail -n 1)
sliding=$("$alibi" query "SELECT run_id FROM evaluations WHERE protocol = 'sliding' AND L_valid = 32" --format csv | tail -n 1)
tokens=$("$alibi" query "SELECT DISTINCT tokens FROM evaluations WHERE protocol = 'nonoverlapping'" --format csv | tail -n 1 | tr -d '\r')
expect 0 "^  targets  *$tokens tokens of the split, </s> of each line included$" "$alibi" show "$nonoverlapping"
grep -q "^  windows  *$(((tokens + 31) / 32)) of at most 32 tokens, without overlap" "$dir/out" || { fail "show: windows"; cat "$dir/out"; }
expect 0 "^  targets  *first 64 of $tokens tokens" "$alibi" show "$sliding"
grep -q "^  windows  *64 of at most 32 tokens, stride 1: .* up to 31 tokens of context" "$dir/out" || { fail "show: windows"; cat "$dir/out"; }
expect 0 "" "$alibi" logs "$run"
expect 64 "hex digits" "$alibi" show xyz
expect 66 "no run matches" "$alibi" show 0000

# A page of HTML with the user's text escaped. Two sets of evaluations side by side, at equal lengths only.
mkdir "$dir/hostile"
sed 's/^title:.*/title: "<script>alert(1)<\/script>"/; s/artefact: mygrid/artefact: hostile/' "$dir/mygrid/grid.yaml" >"$dir/hostile/grid.yaml"
expect 0 "10 done, 0 to do" "$alibi" plan "$dir/hostile/"
expect 0 "" "$alibi" run "$dir/hostile/"
expect 0 "<!DOCTYPE html>" "$alibi" report "$dir/hostile/" --format html
grep -q "<script" "$dir/out" && fail "a title became a script in the page"
expect 0 "data:image/svg+xml" "$alibi" report "$dir/mygrid/" --format html
# A plot.gp that can run commands runs once the user trusts it, until it changes.
printf 'system("touch %s/HACK")\nplot DATA using 1:2\n' "$dir" >"$dir/mygrid/plot.gp"
expect 69 "1 figure was not drawn, the first: .*mygrid/plot.gp is not a shipped file.*pass --trust" "$alibi" report "$dir/mygrid/"
grep -q ALiBi "$dir/out" || { fail "the table is not there"; cat "$dir/out"; }
expect 69 "" "$alibi" report "$dir/mygrid/" --format html --out "$dir/refused.html"
grep -q "</html>" "$dir/refused.html" || fail "the page of a refused figure was not written"
[ -e "$dir/HACK" ] && fail "a plot.gp was run that nobody trusts"
expect 0 "Figure: plots/mygrid-none.svg" "$alibi" report "$dir/mygrid/" --trust
[ -e "$dir/HACK" ] || fail "--trust did not run plot.gp"
expect 0 "Figure: plots/mygrid-none.svg" "$alibi" report "$dir/mygrid/"
echo "# changed" >>"$dir/mygrid/plot.gp"
expect 69 "not a shipped file" "$alibi" report "$dir/mygrid/"
rm "$dir/mygrid/plot.gp"
expect 0 "A / B" "$alibi" compare position=alibi,scale=none position=sinusoidal,scale=none --format csv
expect 66 "no evaluation" "$alibi" compare position=alibi,scale=paper position=sinusoidal

# Why a run would run: the difference from the run that its point needed before.
expect 0 "new: model.dropout 0.1, was 0; train.lr 0.25, was 0.5$" "$alibi" plan "$dir/mygrid/" --set train.lr=0.25 --set model.dropout=0.1
expect 0 "new: its training changed$" "$alibi" plan "$dir/mygrid/" --set train.lr=0.25 --all
expect 0 "; and 1 more$" "$alibi" plan "$dir/mygrid/" --set train.lr=0.25 --set train.clip=1 --set train.warmup=9 --set train.seed=2

# A second seed adds runs; nothing is run twice.
expect 0 "2 trainings" "$alibi" plan "$dir/mygrid/" --set train.lr=0.25
expect 0 "0 removed\|attempts removed" "$alibi" gc

# Queries are read-only and limited.
expect 64 "cannot modify" "$alibi" query "DELETE FROM attempts"
expect 0 "^2$" "$alibi" query --format csv "-- SQL may begin with a comment
SELECT 1 + 1 AS two"
expect 64 "did you mean 'perplexity'" "$alibi" query "SELECT perplexty FROM evaluations"
expect 69 "longer than 1 s" "$alibi" query --limit 1 "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

# An invalid grid is rejected with its place.
sed 's/L_train: \[16\]/L_trian: [16]/' "$dir/mygrid/grid.yaml" >"$dir/text/grid.yaml"
expect 65 "grid.yaml:9:" "$alibi" plan "$dir/text/"

# Results made elsewhere are ingested. A merge of nothing usable leaves nothing.
mkdir "$dir/home" "$dir/other"
expect 66 "neither results.db nor run folders" "$alibi" merge "$dir/other" --project "$dir/home"
expect 65 "neither a project folder nor a results.db" "$alibi" merge "$source/README.md" --project "$dir/home"
cp "$dir/project/results.db" "$dir/other"
expect 66 "without their run folders" "$alibi" merge "$dir/other" --project "$dir/home"
[ -z "$(ls -A "$dir/home")" ] || fail "a failed merge left $(ls -A "$dir/home")"
expect 0 "ingested 10 results" "$alibi" merge "$dir/project" --project "$dir/home"
expect 0 "^8$" "$alibi" query "SELECT count(*) FROM evaluations" --format csv --project "$dir/home"

finish
