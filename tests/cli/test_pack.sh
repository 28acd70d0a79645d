#!/bin/sh
# test_pack.sh - a supplement: packed from a project with more results than it takes, unpacked where nothing was trained and no text
# is, read there, and repeated there beside the published results. Equal results are equal bytes, in any time zone and while a run
# is going; kill -9 leaves the old file or the new one.
# usage: tests/cli/test_pack.sh BUILD
. tests/cli/expect.sh
fixtures=$source/tests/fixtures/checkpoints

mkdir -p "$dir/project/g" "$dir/project/h" "$dir/empty" && cd "$dir/project" || exit 1
cat >small.yaml <<'Y'
model: { layers: 1, dim: 32, heads: 4, ffn: 64, softmax: plain, final_norm: true }
train: { shard_tokens: 256, updates: 6, lr: 0.5, warmup: 1, period: 5, clip: 0.1, momentum: 0.9 }
Y
echo 'train: { seed: 1 }' >g/own.yaml
cat >g/grid.yaml <<'Y'
title: "Packed"
scale: none
base: [data/tiny.yaml, ../small.yaml, own.yaml]
grid:
  - { position: alibi, L_train: 16 }
evaluate:
  - { split: valid, L_valid: [16, 32], targets: 128 }
Y
printf '# Notes\nShort rows.\n' >g/README.md
echo "a text that is not to be published" >g/train.txt
printf 'title: Packed\nuse: h/plot.gp\nrows: method, L_train\ncolumns: L_valid\nvalue: perplexity\nseries: method\nstyle: position\nx: L_valid\ny: perplexity\n' >g/table.txt
cp "$source/experiments/figure1/plot.gp" h/plot.gp
sed 's/\[16, 32\]/[16, 64]/; s/Packed/Other/; s/own.yaml/..\/g\/own.yaml/' g/grid.yaml >h/grid.yaml
expect 66 "" "$alibi" pack ./g/ --out none.zip
expect 0 "" "$alibi" data prepare tiny --text "$fixtures/text"
expect 0 "3 done now" "$alibi" run ./g/ --devices cpu:1
expect 64 "out FILE.zip is missing" "$alibi" pack ./g/
expect 0 "1 done now" "$alibi" run ./h/ --devices cpu:1

expect 0 "^wrote supplement.zip: " "$alibi" pack ./g/ --out supplement.zip
mv supplement.zip first.zip
expect 0 "" env TZ=America/New_York LC_ALL=de_DE.UTF-8 "$alibi" pack ./g/ --out supplement.zip
cmp supplement.zip first.zip || fail "equal results are not equal bytes"
expect 73 "" "$alibi" pack ./g/ --out nowhere/x.zip
cp g/own.yaml "$dir/outside.yaml"
cp g/grid.yaml grid
sed -i "s#own.yaml#$dir/outside.yaml#" g/grid.yaml
expect 65 "outside.yaml: a grid names it, but it is outside of the project" "$alibi" pack ./g/ --out none.zip
mv grid g/grid.yaml
[ ! -e none.zip ] || fail "a file without results"
expect 66 "has no results of g at scale paper" "$alibi" pack ./g/ --scale paper --out none.zip
expect 66 "has no results of table5 at scale mini" "$alibi" pack ./g/ table5 --out none.zip
# No other file is replaced by a mistake.
expect 64 "ends with .zip" "$alibi" pack ./g/ --out g/grid.yaml
cp results.db "$dir/kept.db"
for command in "report ./g/ --out" "export --results" "export $("$alibi" query "SELECT run_id FROM evaluations" --format csv | tail -1 | tr -d '\r') --losses"; do
    # shellcheck disable=SC2086
    expect 64 "results.db is the results.db of a project" "$alibi" $command results.db
done
cmp results.db "$dir/kept.db" || fail "results.db was replaced"

# By another program: every member is a regular file under one folder.
command -v python3 >/dev/null || { echo "skipped: no python3 here reads the archive"; finish; exit; }
python3 - supplement.zip "$dir/empty" <<'P' || fail "python3 cannot unpack it"
import sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
names = archive.namelist()
assert archive.testzip() is None
assert all(name.startswith("supplement/") and ".." not in name for name in names)
assert len(set(names)) == len(names)
archive.extractall(sys.argv[2])
P
cd "$dir/empty/supplement" || { fail "no folder supplement"; finish; exit 1; }
find . -type f ! -path './plots/*' | sort >../files
printf './%s\n' README.txt data/tiny.yaml g/README.md g/grid.yaml g/own.yaml g/table.txt h/plot.gp page.html published.db small.yaml |
    LC_ALL=C sort | diff - ../files || fail "other files than these"
grep -rl "$dir" . && fail "files above name a folder of this machine"
grep -q "<p>Short rows.</p>" page.html || fail "the page does not show the grid's README.md"
sum=$(sha256sum published.db | cut -d ' ' -f 1)
for line in "^g: Packed$" "^  3 by code [0-9a-f].* on " "$sum" "^  alibi report ./g/ --db published.db$" "^  alibi run ./g/$" \
    "^  tiny: 1 trainings, 3 runs, scale none, seed 1, fingerprint " "^  alibi data prepare tiny --text DIR "; do
    grep -q "$line" README.txt || fail "README.txt: no $line: $(cat README.txt)"
done
expect 0 "^ALiBi  *16 " "$alibi" report ./g/ --db published.db --no-figure
cp "$dir/out" ../published
[ "$("$alibi" query "SELECT count(*) FROM evaluations" --db published.db --format csv | tail -1 | tr -d '\r')" -eq 2 ] || fail "results of h are in it"
expect 0 "nothing to judge" "$alibi" claims ./g/ --db published.db
expect 65 "file is not a database; .* unpacked if it is a zip file" "$alibi" report ./g/ --db "$dir/project/supplement.zip"
head -c 50000 published.db >cut.db
expect 65 "cut.db: .*take an undamaged copy" "$alibi" report ./g/ --db cut.db
expect 0 "2 evaluations: 0 done, 3 to do" "$alibi" plan ./g/
expect 66 "data prepare tiny --text DIR" "$alibi" run ./g/ --devices cpu:1 # says which text is missing
expect 0 "" "$alibi" data prepare tiny --text "$fixtures/text"
expect 0 "3 done now" "$alibi" run ./g/ --devices cpu:1
expect 0 "" "$alibi" report ./g/ --no-figure
cmp "$dir/out" ../published || fail "repeated, it is not what was published"

# While a run is going, its finished results are packed.
cd "$dir/project" || exit 1
echo 'set: { train.updates: 100000 }' >>h/grid.yaml
"$alibi" run ./h/ --devices cpu:1 >../run 2>&1 &
run=$!
for k in $(seq 1 600); do grep -q '^started' ../run && break; sleep 0.1; done
expect 0 "^wrote" "$alibi" pack ./g/ --out supplement.zip
kill -INT $run || fail "the run ended before the pack"
wait $run
cmp first.zip supplement.zip || fail "packed while a run is going, it has other bytes"

# kill -9
needs_faults
export TMPDIR="$dir/tmp"
mkdir "$dir/tmp"
strikes() { # CALL:N... - killed at the first and at the Nth of these calls
    for strike in "$@"; do
        for k in 1 "${strike#*:}"; do
            { traced -q -o ../trace -e signal=none -e "trace=${strike%:*}" -e "inject=${strike%:*}:signal=SIGKILL:when=$k" \
                "$alibi" pack ./g/ --out supplement.zip >../killed 2>&1 </dev/null; } 2>/dev/null
            grep -q ' = ?$' ../trace || fail "no call $k of ${strike%:*}"
            cmp supplement.zip first.zip || fail "killed at ${strike%:*} $k: neither the old file nor the new one"
            rm -f supplement.zip.tmp-*
        done
        [ -n "$(ls "$dir/tmp")" ] || echo "nothing left by ${strike%:*}"
        expect 0 "^wrote" "$alibi" pack ./g/ --out supplement.zip
        cmp supplement.zip first.zip || fail "after kill -9 at ${strike%:*}: other bytes"
        [ -z "$(ls "$dir/tmp")" ] || fail "a killed pack left $(ls -A "$dir/tmp")"
    done
}
strikes mkdir:2 write:12 fsync:12 rename:7 unlinkat:3
finish
