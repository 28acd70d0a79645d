#!/bin/sh
# test_published.sh - results that were exported for publication are read with --db from any folder: the same tables, verdicts and
# rows as from the project, which is not there any more; neither the file nor a results.db is written.
# usage: tests/cli/test_published.sh BUILD
. tests/cli/expect.sh
build=$(cd "$1" && pwd)

mkdir -p "$dir/visitor/own"
tiny_project
tiny_grid experiments/g <<'Y'
artefact: g
grid: [{ position: [alibi, rotary], L_train: 32 }]
evaluate: [{ split: valid, window: nonoverlapping, L_valid: [32, 64] }]
Y
cat >experiments/g/claim.sql <<'Q'
SELECT 'G' AS claim, 'Perplexity is a number.' AS statement, CASE WHEN count(perplexity) = 4 THEN 'supported' ELSE 'contradicted' END
AS verdict, printf('%.4f', sum(perplexity)) AS evidence FROM artefact_evaluations WHERE artefact = :artefact AND scale = :scale
Q
expect 0 "6 done now" "$alibi" run g --devices cpu:1
evaluation=$("$alibi" query "SELECT run_id FROM evaluations WHERE position = 'alibi' AND L_valid = 64" --format csv | tail -n 1)

answers() { # NAME, options: what each command says
    name=$1
    shift
    for format in text markdown csv json latex; do "$alibi" report g --no-figure --format $format "$@"; done >"$dir/$name" 2>&1
    "$alibi" claims g "$@" >>"$dir/$name" 2>&1
    "$alibi" compare position=alibi position=rotary "$@" >>"$dir/$name" 2>&1
    "$alibi" query "SELECT * FROM evaluations ORDER BY run_id" "$@" >>"$dir/$name" 2>&1
    "$alibi" query --wide "$@" >>"$dir/$name" 2>&1
    "$alibi" show "$evaluation" "$@" | grep -vE '^  (host|pid|program) ' >>"$dir/$name" 2>&1
}
answers before
expect 0 "wrote .*published.db, .*kB: the current results" "$alibi" export --results "$dir/published.db"
expect 0 "" "$alibi" export --results "$dir/again.db"
cmp "$dir/published.db" "$dir/again.db" || fail "a second export has other bytes"
expect 64 "name another file" "$alibi" export --results results.db
expect 64 "leave RUN out" "$alibi" export --results other.db "$evaluation"
expect 64 "cannot be combined with --out" "$alibi" export --results other.db --out "$dir"
expect 64 "cannot be combined with --results" "$alibi" export "$evaluation" --results other.db --losses losses.tsv
expect 64 "expected RUN or --results" "$alibi" export
expect 74 "" "$alibi" export --results /dev/full

# A visitor has the file, the grid and the manifest of its corpus.
mkdir "$dir/visitor/data"
mv experiments "$dir/visitor/"
mv data/tiny.yaml "$dir/visitor/data/"
rm -r "$dir/project"
cd "$dir/visitor" || exit 1
chmod 444 "$dir/published.db"
cp "$dir/published.db" "$dir/kept.db"
answers after --db "$dir/published.db"
diff "$dir/before" "$dir/after" || fail "other answers from the published file"
expect 0 "" "$alibi" report g --db "$dir/published.db" --format html --out page.html
"$build/tests/report/check_page" page.html >"$dir/out" || fail "the page: $(cat "$dir/out")"
cmp "$dir/published.db" "$dir/kept.db" || fail "the file was changed"
for name in results.db runs "$dir/published.db-wal" "$dir/published.db-shm"; do [ ! -e "$name" ] || fail "$name was made"; done

# A grid of the visitor's own, whose evaluations are among those of the file.
sed -e '/^artefact/d' -e 's/\[32, 64\]/64/' experiments/g/grid.yaml >own/grid.yaml
expect 0 "^ALiBi .*[0-9][0-9][.]" "$alibi" report ./own/ --no-figure --db "$dir/published.db"

# What is missing, in one sentence.
cd "$dir" || exit 1
expect 66 "has results of g, but neither this project nor the shipped experiments/ has its grid.yaml" "$alibi" report g --db published.db
expect 0 "^ALiBi" "$alibi" report g --no-figure --db published.db --project visitor
expect 66 "absent.db not found$" "$alibi" query "SELECT 1" --db absent.db
expect 65 "not a database; take an undamaged copy" "$alibi" claims --db before
head -c 40000 published.db >cut.db
expect 65 "malformed; take an undamaged copy" "$alibi" show "$evaluation" --db cut.db
"$build/tests/store/fake_database" "$source/tests/store/frozen/v1.sql" v1.db
expect 69 "schema has version 1, .* copy it to an empty folder" "$alibi" compare position=alibi position=rotary --db v1.db
[ "$(ls -A visitor | tr '\n' ' ')" = "data experiments own page.html plots " ] || fail "the visitor's folder has $(ls -A visitor)"
finish
