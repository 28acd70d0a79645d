#!/bin/sh
# test_documents.sh - each number in a marked region of a document is that of the published results: `make documents` would change
# nothing. A changed number, a missing end, and a command that fails are found.
# usage: tests/cli/test_documents.sh BUILD
. tests/cli/expect.sh
build=$(cd "$1" && pwd)

expect 0 "" sh tests/documents.sh "$build" --check

# An artefact is shown over all its seeds, also where the better of two rates differs between them. A result
# that only the figure shows is not missing.
for artefact in rotary_scaling training; do
    expect 0 "seed" "$alibi" report explore/$artefact --db experiments/published/mini.db --seeds 5 --no-figure
    ! grep "results* .* missing" "$dir/out" || fail "explore/$artefact: a result is missing"
done

documents() { sh "$source/tests/documents.sh" "$build" "$@"; }
cd "$dir" || exit 1
"$build/tests/store/fake_database" "$source/tests/store/frozen/v6.sql" some.db
region() { # COMMAND…: a document with a region of each, which is empty
    echo "Before."
    for command; do printf '\n<!-- alibi: %s -->\n<!-- end -->\n' "$command"; done
    printf '\nAfter.\n'
}
region 'query "SELECT position, perplexity FROM evaluations" --db some.db --format markdown' \
    'query "SELECT position,
L_valid FROM evaluations" --db some.db' >page.md
expect 1 "^+| alibi | 17.25 |$" documents --check page.md
expect 0 "wrote page.md" documents page.md
cat >expected.md <<'Y'
Before.

<!-- alibi: query "SELECT position, perplexity FROM evaluations" --db some.db --format markdown -->
| position | perplexity |
| :--- | ---: |
| alibi | 17.25 |
<!-- end -->

<!-- alibi: query "SELECT position,
L_valid FROM evaluations" --db some.db -->
```
position  L_valid
-----------------
alibi         128
```
<!-- end -->

After.
Y
diff expected.md page.md || fail "page.md"
expect 0 "" documents page.md
[ ! -s "$dir/out" ] || fail "an unchanged document was written"
expect 0 "" documents --check page.md
sed -i 's/17.25/17.26/' page.md
expect 1 "^-| alibi | 17.26 |$" documents --check page.md
grep -q 17.26 page.md || fail "--check changed a document"

region 'query "SELECT nowhere" --db some.db' >page.md
expect 1 "no such column" documents --check page.md
region "query \"SELECT 'a', '–', 1\" --db some.db --format markdown" >page.md
expect 1 "some results are missing" documents --check page.md
region 'query "SELECT 1" --db absent.db' >page.md
expect 1 "absent.db not found" documents page.md
grep -q "After" page.md || fail "a document was cut by an error"
region 'query "SELECT 1" --db some.db' | sed '/end/d' >page.md
expect 1 "a region has no" documents page.md
finish
