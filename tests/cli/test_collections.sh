#!/bin/sh
# test_collections.sh - a folder under experiments/ without a grid names the artefacts in it: plan, run, list, report, the figure's name, `use:`,
# claims, the chapter of a page, and that nothing in it counts among the paper's.
# usage: tests/cli/test_collections.sh BUILD
. tests/cli/expect.sh
checks=$(cd "$1" && pwd)/tests/report

tiny_project
mkdir -p experiments/mine/two one
printf '# Questions of mine\n\nWhy **not**?\n' >experiments/mine/README.md
tiny_grid experiments/mine/one <<'Y'
artefact: mine/one
title: "The first"
grid:
  - { position: [alibi, none], L_train: 16 }
evaluate:
  - { split: valid, L_valid: [16, 32], targets: 128 }
Y
sed 's/mine\/one/mine\/two/; s/first/second/' experiments/mine/one/grid.yaml >experiments/mine/two/grid.yaml
sed 's/mine\/one/one/' experiments/mine/one/grid.yaml >one/grid.yaml
cat >experiments/mine/one/table.txt <<'Y'
use: figure1/plot.gp
title: One of mine
rows: method, L_train
columns: L_valid
value: perplexity
panel: L_train
series: method
style: position
x: L_valid
y: perplexity
Y
printf 'use: mine/one/table.txt\nuse: one/claim.sql\nuse: figure1/plot.gp\ntitle: Two of mine\n' >experiments/mine/two/table.txt
cat >experiments/mine/one/claim.sql <<'Y'
SELECT 'M1' AS claim, 'A claim of mine.' AS statement, 1 AS wanted, NULL AS seed, 1 AS holds,
    (SELECT printf('%d numbers', count(perplexity)) FROM artefact_evaluations WHERE artefact = :artefact AND scale = :scale) AS said
Y

query() { "$alibi" query "$1" --format csv | tr -d '\r' | tail -n +2; }

expect 0 "^mine/two: The second$" "$alibi" plan mine
expect 0 "^2 trainings, 4 evaluations: 0 done, 6 to do" "$alibi" plan mine
expect 0 "6 done now" "$alibi" run mine --devices cpu:2
[ "$(query "SELECT DISTINCT artefact FROM artefact_evaluations ORDER BY 1" | tr '\n' ' ')" = "mine/one mine/two " ] || fail "names in results.db"
[ "$(query "SELECT artefact || ' ' || claim || ' ' || verdict FROM claims ORDER BY 1" | tr '\n' ' ')" = "mine/one M1 supported mine/two M1 supported " ] ||
    fail "verdicts of two artefacts, one of which uses the other's claim.sql"

# A folder of the same name elsewhere is another artefact.
expect 0 "0 done now" "$alibi" run ./one/
[ "$(query "SELECT count(*) FROM artefact_points WHERE artefact = 'one'")" -eq 6 ] || fail "points of ./one/"

expect 0 "^mine (\`alibi run mine\` runs them; they are not the paper's)$" "$alibi" list
[ "$(grep -c '^mine/\(one\|two\) *6 of *6' "$dir/out")" -eq 2 ] || { fail "list"; cat "$dir/out"; }
sed -n '/^other grids/,$p' "$dir/out" | grep -q "^mine" && fail "list shows a collection's artefacts as the user's own too"

expect 0 "^Claims beyond the paper, judged at scale none" "$alibi" report mine/two
grep -q "^Two of mine" "$dir/out" || { fail "mine/two does not use the layout of mine/one"; cat "$dir/out"; }
expect 0 "^Claims beyond the paper" "$alibi" claims mine --scale none
expect 0 "^Claims of the paper and beyond it" "$alibi" claims mine table5 --scale none
# A document of the collection has a section for each artefact, whose link works in its folder; a line is a claim.
"$alibi" claims mine --scale none --format markdown >"$dir/out"
cat >"$dir/lines" <<'Y'
## [one](one/)

| claim | statement | verdict | cases that hold | seeds |
| :--- | :--- | :--- | :--- | ---: |
| M1 | A claim of mine. | supported | 1 of 1 | 0 |

## [two](two/)

| claim | statement | verdict | cases that hold | seeds |
| :--- | :--- | :--- | :--- | ---: |
| M1 | A claim of mine. | supported | 1 of 1 | 0 |

1 supported, 0 contradicted, 0 not run.

Y
diff "$dir/lines" "$dir/out" || fail "claims of a collection as Markdown"
expect 0 "^## \[mine/one\](mine/one/)$" "$alibi" claims mine table5 --scale none --format markdown
if command -v gnuplot >/dev/null 2>&1; then
    [ -s plots/mine-two-none.svg ] || fail "no figure plots/mine-two-none.svg"
fi

# The page: a chapter, whose claims are not among the paper's.
expect 0 "" "$alibi" report figure1 mine --format html --out page.html
expect 0 "ok" "$checks/check_page" page.html
if command -v xmllint >/dev/null; then expect 0 "" xmllint --noout --nonet page.html; fi
grep -q '<section class="chapter" id="g-mine">' page.html && grep -q '<h1>Questions of mine</h1>' page.html || fail "no chapter"
grep -q '<p>Why <strong>not</strong>?</p>' page.html || fail "the chapter lacks the text of its README.md"
sed -n '1,/id="g-mine"/p' page.html | grep -q 'M1' && fail "a claim of a collection is among the paper's"
grep -q '^<p class="lead">0 of 4 claims of <em>Attention' page.html || fail "the claims of a collection are counted as the paper's"
expect 0 "<title>Questions of mine</title>" "$alibi" report mine --format html
[ "$(grep -c '<h1>' "$dir/out")" -eq 1 ] || fail "a page of one chapter has several titles"
grep -q "The claims of this chapter, judged" page.html || fail "the chapter lacks its claims"

finish
