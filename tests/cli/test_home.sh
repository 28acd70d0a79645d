#!/bin/sh
# test_home.sh - lost, modified and foreign results: verify names the differences, merge rebuilds a lost
# results.db and copies run folders and grids.
# usage: tests/cli/test_home.sh BUILD
. tests/cli/expect.sh
fixtures=$PWD/tests/fixtures/checkpoints

mkdir -p "$dir/home/g" "$dir/bare"
tiny_project
tiny_grid g "shard_tokens: 512, updates: 8, lr: 0.005, warmup: 1, period: 7, validate_every: 4" "$tiny_pt" <<'Y'
artefact: g
grid:
  - { position: [alibi, sinusoidal], L_train: [32] }
evaluate:
  - { split: valid, window: nonoverlapping, L_valid: [32, 64] }
  - { where: { position: alibi }, split: valid, window: sliding, stride: 1, L_valid: [8, 16], targets: 64 }
Y
answers() { # NAME: what the views say, but for exit codes and uids
    for view in "evaluations ORDER BY run_id" "position_loss ORDER BY run_id, first" "target_blocks ORDER BY run_id, first" "trainings ORDER BY run_id" "curves ORDER BY run_id, split, step"; do
        "$alibi" query "SELECT * FROM $view" --format csv
    done >"$dir/$1.csv"
    "$alibi" report g/ --format csv >>"$dir/$1.csv" 2>/dev/null
}
expect 0 "8 done now" "$alibi" run g/ --devices cpu:1
answers before
training=$("$alibi" query "SELECT run_id FROM trainings WHERE position = 'alibi'" --format csv | tail -n 1)
evaluation=$("$alibi" query "SELECT run_id FROM evaluations WHERE protocol = 'sliding' AND L_valid = 8" --format csv | tail -n 1)

# Reproduced bit for bit: a whole training with its checkpoints, one evaluation of a shared pass, some updates of everything.
expect 0 "first 8 updates reproduced: 1[0-9] records agree bit for bit, [23] of them" "$alibi" verify "$training" --updates 99
expect 0 "$evaluation, evaluation reproduced: 1 records agree" "$alibi" verify "$evaluation"
expect 0 "8 results compared with their records, 8 runs reproduced, 0 wrong" "$alibi" verify --updates 1
expect 0 "0 runs reproduced, 0 wrong" "$alibi" verify
expect 66 "no run matches" "$alibi" verify 0123456789abcdef
expect 64 "hex digits" "$alibi" verify nonsense
[ -z "$(ls -A runs | grep -v '^[0-9a-f]*$')" ] || fail "verify left something under runs/"

# An edited row, a swapped checkpoint, a truncated record.
cp results.db "$dir/results.db"
cp -r runs "$dir/runs"
sqlite() { python3 -c 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()' "$@"; }
if command -v python3 >/dev/null 2>&1; then
    sqlite results.db "UPDATE results SET perplexity = perplexity - 1 WHERE run_id = '$evaluation'"
    expect 65 "run $evaluation: perplexity is [0-9.]* in results.db, but [0-9.]* in its record" "$alibi" verify
    cp "$dir/results.db" results.db
    rm -f results.db-wal results.db-shm
fi
printf x >>"runs/$training/1/update-000000008.safetensors"
expect 65 "WRONG runs/$training/1/update-000000008" "$alibi" verify
cp "$dir/runs/$training/1/update-000000008.safetensors" "runs/$training/1/"
events=runs/$training/1/events
head -c 900 "$dir/$events" >"$events"
expect 65 "contains no record of its result" "$alibi" verify
expect 65 "its record is missing" "$alibi" verify "$training"
cp "$dir/$events" "$events"
expect 0 "0 wrong" "$alibi" verify

# results.db is lost: merge rebuilds it from the folders with the same answers, and nothing is rerun.
rm -rf runs results.db* && cp -rp "$dir/runs" runs && mkdir "$dir/lost" && cp "$dir/results.db" "$dir/lost"
mkdir -p runs/00000000000000aa/1 && cp "$events" runs/00000000000000aa/1/ && echo nonsense >runs/00000000000000aa/1/spec
expect 66 "alibi merge runs/" "$alibi" report g/
expect 65 "ingested 8 attempts .* 1 folders left out (the first: .*expected key=value" "$alibi" merge runs/
rm -r runs/00000000000000aa
expect 0 "ingested 0 attempts from [0-9]* folders of .*; 8 were already known" "$alibi" merge runs/
expect 0 "^6$" "$alibi" query "SELECT count(*) FROM evaluations WHERE modified = 1" --format csv
expect 0 "0 done now, 8 before" "$alibi" run g/
answers after
sed 's/,20[0-9-]*T[0-9:]*Z//g' "$dir/before.csv" >"$dir/before"
sed 's/,20[0-9-]*T[0-9:]*Z//g' "$dir/after.csv" >"$dir/after"
cmp "$dir/before" "$dir/after" || fail "the results made again differ"
expect 0 "0 wrong" "$alibi" verify --updates 2

# Another machine's project is merged with its run folders, and evaluations use its checkpoints.
cd "$dir/home" || exit 1
cp -r "$dir/project/data" .
sed 's/L_valid: \[32, 64\]/L_valid: [32, 64, 96]/' "$dir/project/g/grid.yaml" >g/grid.yaml
expect 66 "neither results.db nor run folders" "$alibi" merge "$dir/bare"
expect 66 "without their run folders (missing: [0-9]*, .*alibi report all --db" "$alibi" merge "$dir/lost"
expect 0 "^6$" "$alibi" query "SELECT count(*) FROM evaluations" --format csv --project "$dir/lost"
(cd "$dir/project" && mv "$events" "$dir/events" && mkdir "$events")
expect 65 "1 run folder left out" "$alibi" merge "$dir/project"
grep -q "ingested 8 results" "$dir/out" || fail "merge with a folder that cannot be read: $(cat "$dir/out")"
expect 66 "was merged without its folder" "$alibi" run g/
(cd "$dir/project" && rmdir "$events" && mv "$dir/events" "$events")
expect 0 "copied 1 run folders" "$alibi" merge "$dir/project"
expect 0 "2 done now, 8 before" "$alibi" run g/
expect 0 "10 results compared with their records, 0 runs reproduced, 0 wrong" "$alibi" verify
expect 0 "ingested 0 results" "$alibi" merge "$dir/project"
grep -q "^kept 1 file of this project that differs in .*: g/grid.yaml$" "$dir/out" || fail "another grid of the name: $(cat "$dir/out")"

# A project without the grid gets it with what it names, so that reports and runs go on; no file is replaced.
cp -r "$dir/project" "$dir/shared" && cd "$dir/shared" && mkdir grids && mv g grids/
echo 'train: { lr: 0.5 }' >grids/g/own.yaml
sed -i 's/^base: \[/&own.yaml, /' grids/g/grid.yaml
echo "a text" >grids/g/train.txt
"$alibi" report grids/g/ --no-figure >"$dir/there"
mkdir "$dir/next" && cd "$dir/next" || exit 1
expect 0 "^copied 3 files of its grids: grids/g/own.yaml, data/tiny.yaml, grids/g/grid.yaml$" "$alibi" merge "$dir/shared/results.db"
"$alibi" report grids/g/ --no-figure | cmp - "$dir/there" || fail "the report of a merged grid differs"
rm data/tiny.yaml grids/g/own.yaml
mkdir elsewhere && mv grids/g elsewhere/ && echo "# changed here" >>elsewhere/g/grid.yaml
cp elsewhere/g/grid.yaml "$dir/mine"
expect 0 "^copied 1 file of its grids: data/tiny.yaml$" "$alibi" merge "$dir/shared"
cmp "$dir/mine" elsewhere/g/grid.yaml && [ ! -e grids/g/grid.yaml ] || fail "a second grid of the name"
rm -r elsewhere
ln -s /etc/hostname "$dir/shared/grids/g/query.sql"
expect 0 "results of g come without their grid: .*query.sql: a link that leads out of its folder" "$alibi" merge "$dir/shared"
rm "$dir/shared/grids/g/query.sql"
if can_inject; then
    for k in 1 2 3; do # kill -9 before each file is in its place
        rm -rf grids data
        { traced -q -o ../trace -e signal=none -e trace=rename -e "inject=rename:signal=SIGKILL:when=$k" \
            "$alibi" merge "$dir/shared" >../killed 2>&1 </dev/null; } 2>/dev/null
        [ ! -e grids/g/grid.yaml ] || fail "killed at file $k: the grid is there before what it needs"
        expect 0 "" "$alibi" merge "$dir/shared"
        "$alibi" report grids/g/ --no-figure | cmp - "$dir/there" || fail "killed at file $k: the merge does not complete the grid"
    done
fi
rm -r grids "$dir/shared/grids"
expect 0 "results of g come without their grid: $dir/shared has no folder g with a grid.yaml; copy the folder here" "$alibi" merge "$dir/shared"

# Imported weights were not trained here, so that nothing can be reproduced.
cd "$dir/project" || exit 1
expect 0 "22,656 parameters" "$alibi" import "$fixtures/tiny.pt" --as position=alibi,L_train=32 --for ./g/ --force
expect 0 "4 done now" "$alibi" run g/ --only position=alibi
expect 0 "not reproduced: its weights were imported" "$alibi" verify "$training"
finish
