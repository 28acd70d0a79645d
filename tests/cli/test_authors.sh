#!/bin/sh
# test_authors.sh - published checkpoints: a grid whose trainings are downloaded, imported and evaluated, from a server on
# this machine that breaks off, serves other files, or has none.
# usage: tests/cli/test_authors.sh BUILD
. tests/cli/expect.sh
fixtures=$PWD/tests/fixtures/checkpoints
server=$(cd "$1" && pwd)/tests/fetch/fake_server
unset http_proxy all_proxy
export no_proxy=127.0.0.1

same() { # NAME A B: two numbers that differ by less than 1e-4
    awk -v a="$2" -v b="$3" 'BEGIN { d = a - b; exit !(a > 1 && b > 1 && d < 1e-4 && d > -1e-4) }' || fail "$1: $2 is not $3"
}
query() { "$alibi" query "$1" --format csv | tail -n +2 | tr -d '\r'; }

# The shipped artefact: what it costs is known before anything is fetched; its numbers of the paper are those of Table 5.
mkdir "$dir/served"
cd "$dir" || exit 1
expect 0 "8 checkpoints, about 7.9 GB (modelled" "$alibi" plan table5/authors
expect 0 "0 trainings, 1 evaluation: 0 done, 1 to do; 1.01e+14 FLOP" "$alibi" plan table5/authors --only L_train=512,L_valid=512
awk -F'\t' 'NR == 1 || $NF == "alibi"' "$source/experiments/table5/paper.tsv" | cmp - "$source/experiments/table5/authors/paper.tsv" ||
    fail "experiments/table5/authors/paper.tsv is not the ALiBi rows of Table 5"
expect 0 "" "$alibi" plan table5/authors --configs
while read -r id rest; do
    grep -q "^$id $rest$" "$source/experiments/paper_configs.txt" || fail "paper_configs.txt lacks $id $rest"
done <out
expect 64 "more than\|add --yes" "$alibi" run table5/authors --devices cpu:1 --set model.layers=1000

# A small grid, whose file is cut after 20 kB.
"$server" served port requests &
while [ ! -s port ]; do sleep 0.05; done # a process of our own is about to write it
tiny_grid g "origin: authors, shard_tokens: 512, updates: 150, lr: 0.005, warmup: 10, period: 140" "$tiny_pt" <<'Y'
artefact: g
title: "A published model"
grid:
  - { position: alibi, L_train: [32] }
evaluate:
  - { split: valid, window: nonoverlapping, L_valid: { from: L_train, add: [0, 32, 96] } }
Y
cat >g/checkpoints.yaml <<Y
url: http://127.0.0.1:$(cat port)/files/
licence: CC0
bytes_max: 1000000
checkpoints:
  - { L_train: 32, file: alibi_tiny_L32.pt }
Y
expect 0 "208 words" "$alibi" data prepare tiny --text "$fixtures/text"
mv data/tiny away
expect 66 "data/tiny" "$alibi" run g/ --devices cpu:1
[ ! -s requests ] || fail "something was downloaded before the corpus was there"
mv away data/tiny
expect 0 "to download: 1 checkpoint" "$alibi" plan g/
cp "$fixtures/tiny.pt" served/alibi_tiny_L32.pt
echo 20000 >served/cut
expect 69 "rerun the command to resume" "$alibi" run g/ --devices cpu:1
[ -s data/fetched/g/alibi_tiny_L32.pt.part ] || fail "an interrupted download left no part"
had=$(stat -c %s data/fetched/g/alibi_tiny_L32.pt.part)
rm served/cut
expect 0 "3 done now" "$alibi" run g/ --devices cpu:1
grep -q "alibi_tiny_L32.pt from $had" requests || { fail "the download was not resumed at $had"; cat requests; }
cmp data/fetched/g/alibi_tiny_L32.pt "$fixtures/tiny.pt" || fail "the resumed download differs"
sha256sum -c --quiet --status data/fetched/g/alibi_tiny_L32.pt.sha256 2>/dev/null ||
    (cd data/fetched/g && sha256sum -c --quiet alibi_tiny_L32.pt.sha256) || fail "the kept hash is not the file's"
for L in 32 64 128; do
    same "perplexity at $L" "$(query "SELECT perplexity FROM evaluations WHERE L_valid = $L")" \
        "$(sed -n "/\"tiny\"/,/}/s/.*\"valid_L$L\": \([0-9.]*\).*/\1/p" "$fixtures/tiny.json")"
done
[ "$(query "SELECT DISTINCT origin FROM evaluations UNION SELECT origin FROM trainings")" = authors ] ||
    fail "the origin of what was imported is not authors"
n=$(wc -l <requests)
expect 0 "nothing to start, 3 runs are done" "$alibi" run g/ --devices cpu:1
expect 0 "3 done now" "$alibi" run g/ --devices cpu:1 --redo # redoes the evaluations; the training cannot be made here
[ "$(wc -l <requests)" -eq "$n" ] || fail "a finished import was downloaded again"
expect 0 "0 wrong" "$alibi" verify
expect 0 "authors" "$alibi" query "SELECT origin FROM comparison" --format csv

# A training of our own is another run, beside theirs.
mkdir own && sed -e 's/origin: authors, //' -e 's/updates: 150/updates: 30/' g/grid.yaml >own/grid.yaml
expect 0 "4 done now" "$alibi" run own/ --devices cpu:1
[ "$(query "SELECT group_concat(origin, '+') FROM (SELECT origin FROM trainings ORDER BY 1)")" = authors+trained ] || fail "origins mix"
expect 0 "train.origin=authors" "$alibi" plan g/ own/

# A training log is not a model.
echo '| train_inner | {"loss": "5.0"}' >theirs.log
expect 64 "theirs.log: a training log cannot be imported; import the training's checkpoint" "$alibi" import theirs.log --for g/

# Another file behind the same name: by the hash of the first download, by a published hash and size, by its content.
fetch_again() { # STATUS WORD: the file is downloaded once more, into an empty results.db
    rm -rf results.db* runs data/fetched/g/*.pt
    expect "$1" "$2" "$alibi" run g/ --devices cpu:1
}
fetch_again 0 "3 done now"
cp "$fixtures/tiny_half.pt" served/alibi_tiny_L32.pt
fetch_again 65 "not the file of the first download"
[ ! -e data/fetched/g/alibi_tiny_L32.pt ] || fail "a file with another hash was kept"
rm data/fetched/g/*.sha256
fetch_again 0 "fp16 converted"
rm data/fetched/g/*.sha256
head -c 50000 "$fixtures/tiny.pt" >served/alibi_tiny_L32.pt
fetch_again 65 "deleted, so that the same command downloads it again"
echo '<html>moved</html>' >served/alibi_tiny_L32.pt
fetch_again 65 "not a PyTorch checkpoint"
[ ! -e data/fetched/g/alibi_tiny_L32.pt ] && [ ! -e data/fetched/g/alibi_tiny_L32.pt.sha256 ] || fail "a web page was kept"
cp "$fixtures/tiny.pt" served/alibi_tiny_L32.pt
sed -i 's/file: /bytes: 7, file: /' g/checkpoints.yaml
fetch_again 65 "not 7 bytes: truncated, or another file"
sed -i 's/bytes: 7/sha256: 92675f1d63015c1c8b51f1656a52d5bdbc33aafa60cc47a218a66e7ee817488c/' g/checkpoints.yaml
fetch_again 65 "92675f1d6301"
sed -i 's/sha256: [0-9a-f]*, //' g/checkpoints.yaml
sed -i 's/L_train: \[32\]/L_train: [32, 64]/' g/grid.yaml # one that nobody publishes; the other goes on
fetch_again 66 "no checkpoints.yaml has one with L_train 64"
[ "$(query "SELECT count(*) FROM evaluations")" = 3 ] || fail "the shorter checkpoint was not evaluated before"
rm served/alibi_tiny_L32.pt
fetch_again 69 "404"

# Mistakes in checkpoints.yaml, with their place.
cp g/checkpoints.yaml kept
while IFS='|' read -r word change; do
    sed -e "$change" kept >g/checkpoints.yaml
    fetch_again 65 "checkpoints.yaml:$word"
done <<'R'
5:16: L_train: expected a number|s/L_train: 32/L_train: none/
5:26: file: expected letters, digits|s#file: alibi#file: ../alibi#
1:6: url: expected https://|s#http:#file:#
5:.*required|s/, file: alibi_tiny_L32.pt//
1:1: url, licence, bytes_max and checkpoints are required|/licence/d
6:.*L_train 32 twice|$p
R
finish
