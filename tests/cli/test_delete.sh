#!/bin/sh
# test_delete.sh - alibi delete: an artefact's runs go and those that others need stay; a run goes with what was computed from its
# weights; it asks first; kill -9 at every deletion of a file is finished by the same command; the database stays consistent.
# usage: tests/cli/test_delete.sh BUILD
. tests/cli/expect.sh

tiny_project
mkdir b c
tiny_grid a <<'Y'
grid:
  - { position: [alibi, none], L_train: 16 }
evaluate:
  - { split: valid, L_valid: [16, 32, 64], targets: 128 }
Y
# b shares the training of alibi and one of its evaluations; c continues it.
sed 's/\[alibi, none\]/alibi/; s/\[16, 32, 64\]/16/' a/grid.yaml >b/grid.yaml
sed 's/\[alibi, none\], L_train: 16/alibi, L_train: 32, train.updates: 8, train.continues: weights, from: { position: alibi, L_train: 16 }/; s/grid:/&\n  - { position: alibi, L_train: 16 }/' \
    a/grid.yaml >c/grid.yaml

rows() { "$alibi" query "$1" --format csv | tr -d '\r' | tail -n +2; }
results() { rows "SELECT count(*) FROM artefact_evaluations WHERE artefact = '$1' AND perplexity > 0"; }
done_runs() { rows "SELECT run_id FROM run_list WHERE state = 'done' ORDER BY 1"; }
expect 0 "8 done now" "$alibi" run ./a/ --devices cpu:2
expect 0 "0 done now" "$alibi" run ./b/ --devices cpu:2
done_runs >before
cp -r . ../start

# Without a terminal it deletes nothing unless --yes is given.
expect 64 "pass --yes" "$alibi" delete ./a/
grep -q "^1 training, 5 evaluations and 0 benchmarks go, with 6 results" "$dir/out" || { fail "what goes"; cat "$dir/out"; }
grep -q "^2 results stay, because other artefacts need them$" "$dir/out" || { fail "what stays"; cat "$dir/out"; }
done_runs | cmp -s - before || fail "an unconfirmed deletion changed results.db"

expect 0 "^deleted; .* freed$" "$alibi" delete a --yes
[ "$(results b)" -eq 1 ] && [ "$(done_runs | wc -l)" -eq 2 ] || fail "what b needs did not stay"
[ "$(ls runs | wc -l)" -eq 2 ] || fail "run folders: $(ls runs)"
[ "$(rows "SELECT count(*) FROM artefact_points WHERE artefact LIKE 'a%'")" -eq 0 ] || fail "points of a"
expect 0 "intact" "$alibi" verify
expect 66 "has no runs of 'a'" "$alibi" delete a --yes
rm -rf a # the grid need not exist
expect 0 "" "$alibi" merge runs/ # the folder of b's evaluation holds two more, which no artefact shows
[ "$(rows "SELECT count(*) FROM artefact_points")" -eq 2 ] && [ "$(results b)" -eq 1 ] || fail "points after a merge"

# A run goes with all that was computed from its weights, and is computed again where an artefact needs it.
expect 0 "6 done now" "$alibi" run ./c/ --devices cpu:2
training=$(rows "SELECT run_id FROM run_list WHERE kind = 'train' AND position = 'alibi' AND L_train = 16")
expect 0 "^b, c need some of what goes" "$alibi" delete "$training" --yes
[ "$(done_runs | wc -l)" -eq 0 ] && [ -z "$(ls runs)" ] || fail "what was computed from its weights stayed: $(done_runs)"
expect 0 "intact" "$alibi" verify
expect 0 "2 done now" "$alibi" run ./b/ --devices cpu:2
head -1 before >one
expect 66 "no run matches 'ffff0000'\|has no runs" "$alibi" delete ffff0000 --yes
expect 66 "has no runs of 'nothing'" "$alibi" delete nothing --yes
for name in cc ./cc/ ./cc/x; do expect 66 "did you mean 'c'?" "$alibi" delete $name --yes; done
expect 64 "needs ARTEFACT" "$alibi" delete
expect 66 "at scale laptop" "$alibi" delete b --scale laptop --yes

# kill -9
needs_faults
struck=0
for k in $(seq 1 200); do
    cd .. && rm -rf project && cp -r start project && cd project || exit 1
    { traced -f -q -o ../trace -e signal=none -e trace=unlinkat -e "inject=unlinkat:signal=SIGKILL:when=$k" \
        "$alibi" delete a --yes >../killed 2>&1 </dev/null; } 2>/dev/null
    grep -q ' = ?$' ../trace || break
    struck=$((struck + 1))
    expect 0 "^deleted" "$alibi" delete a --yes
    [ "$(results b)" -eq 1 ] && [ "$(done_runs | wc -l)" -eq 2 ] && [ "$(ls runs | wc -l)" -eq 2 ] || fail "killed at file $k: $(ls runs)"
done
[ $struck -gt 3 ] || fail "only $struck deletions of files were struck"
finish
