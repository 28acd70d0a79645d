#!/bin/sh
# test_pack.sh - a supplement: packed from a project with more results than it takes, unpacked where nothing was trained and no text
# is, and read there; its results are the same bytes when packed again.
# usage: tests/cli/test_pack.sh BUILD
. tests/cli/expect.sh

mkdir -p "$dir/project/g" "$dir/project/h" "$dir/empty" && cd "$dir/project" || exit 1
cat >g/grid.yaml <<'Y'
title: "Packed"
scale: none
base: [data/tiny.yaml]
set:
  model: { layers: 1, dim: 32, heads: 4, ffn: 64, softmax: plain, final_norm: true }
  train: { shard_tokens: 256, updates: 6, lr: 0.5, warmup: 1, period: 5, clip: 0.1, momentum: 0.9, seed: 1 }
grid:
  - { position: alibi, L_train: 16 }
evaluate:
  - { split: valid, L_valid: [16, 32], targets: 128 }
Y
printf 'use: figure1/plot.gp\ntitle: Packed\nrows: method, L_train\ncolumns: L_valid\nvalue: perplexity\nseries: method\nstyle: position\nx: L_valid\ny: perplexity\n' >g/table.txt
sed 's/\[16, 32\]/[16, 64]/; s/Packed/Other/' g/grid.yaml >h/grid.yaml
expect 66 "" "$alibi" pack ./g/ --out none.zip
expect 0 "" "$alibi" data prepare tiny --text "$source/tests/fixtures/checkpoints/text"
expect 0 "3 done now" "$alibi" run ./g/ --devices cpu:1
expect 64 "out FILE.zip is missing" "$alibi" pack ./g/
expect 0 "1 done now" "$alibi" run ./h/ --devices cpu:1

expect 0 "^wrote supplement.zip: " "$alibi" pack ./g/ --out supplement.zip
cp supplement.zip first.zip
expect 0 "" "$alibi" pack ./g/ --out supplement.zip
expect 73 "" "$alibi" pack ./g/ --out nowhere/x.zip
[ ! -e none.zip ] || fail "a file without results"

# By another program: every member is a regular file under one folder.
command -v python3 >/dev/null || { echo "skipped: no python3 here reads the archive"; finish; exit; }
python3 - supplement.zip "$dir/empty" <<'P' || fail "python3 cannot unpack it"
import sys, zipfile
archive, first = zipfile.ZipFile(sys.argv[1]), zipfile.ZipFile("first.zip")
assert archive.read("supplement/results.db") == first.read("supplement/results.db")
assert archive.testzip() is None
assert all(name.startswith("supplement/") and ".." not in name for name in archive.namelist())
archive.extractall(sys.argv[2])
P
cd "$dir/empty/supplement" || { fail "no folder supplement"; finish; exit 1; }
for file in README.txt page.html results.db g/grid.yaml g/table.txt data/tiny.yaml; do [ -s "$file" ] || fail "no $file"; done
grep -rl "$dir" . && fail "files above name a folder of this machine"
grep -q "^  alibi report ./g/ --db results.db$" README.txt || fail "README.txt: $(cat README.txt)"
expect 0 "^ALiBi  *16 " "$alibi" report ./g/ --db results.db --no-figure
[ "$("$alibi" query "SELECT count(*) FROM evaluations" --db results.db --format csv | tail -1 | tr -d '\r')" -eq 2 ] || fail "results of h are in it"
expect 0 "2 evaluations: 3 done, 0 to do" "$alibi" plan ./g/
rm results.db # without the results: it names the text that is missing
expect 66 "tiny" "$alibi" run ./g/ --devices cpu:1
finish
