#!/bin/sh
# test_old_databases.sh - a results.db that each earlier version wrote for the same small grid: every command that reads opens
# it, every view answers, and the results are those that the version itself printed. From version 2 on also before it is
# migrated; older ones name the remedy.
# usage: tests/cli/test_old_databases.sh BUILD
. tests/cli/expect.sh
frozen=$source/tests/store/frozen
build=$(cd "$1" && pwd)
query() { "$alibi" query "$1" --format csv | tail -n +2 | tr -d '\r'; }
results="SELECT run_id, position, L_valid, protocol, perplexity FROM evaluations ORDER BY run_id"
run=db253c97668c4241

read_all() { # VERSION
    expect 0 "^none .* eval  *5 *5" "$alibi" status
    expect 0 "^g  *7 of *7" "$alibi" list
    expect 0 "9793.18" "$alibi" report g
    expect 0 "" "$alibi" report g --format csv --out answer # the other formats print the same rows
    expect 0 "not run" "$alibi" claims
    expect 0 "7 done, 0 to do" "$alibi" plan g
    expect 0 "9793.17" "$alibi" show $run
    expect 0 "alibi" "$alibi" compare position=alibi position=rotary
    # Every column of every view in one query: DISTINCT has them computed.
    [ "$(query "SELECT count(*) FROM sqlite_schema WHERE type = 'view'")" -ge 15 ] || fail "version $1 lacks views"
    views=$(query "SELECT group_concat('(SELECT count(*) FROM (SELECT DISTINCT * FROM ' || name || '))', ' + ') FROM sqlite_schema WHERE type = 'view'")
    expect 0 "^[0-9]" "$alibi" query "SELECT $views" --format csv
    [ "$(query "$results")" = "$(cat "$frozen/runs_v$1.csv")" ] || fail "version $1: other results: $(query "$results")"
}

mkdir "$dir/p" && cd "$dir/p" && mkdir experiments configs && cp -r "$frozen/g" experiments/ || exit 1
expect 0 "" "$alibi" data prepare tiny --text "$source/tests/fixtures/checkpoints/text"
for file in "$frozen"/runs_v*.sql; do
    version=${file##*_v}
    version=${version%.sql}
    rm -rf results.db* runs
    "$build/tests/store/fake_database" "$file" results.db || fail "version $version does not thaw"
    if [ "$version" -ge 2 ]; then read_all "$version"; else expect 69 "version $version, .* \`alibi gc\`" "$alibi" status; fi
    expect 0 "" "$alibi" gc
    read_all "$version"
    expect 0 "" "$alibi" report g table5 --format html --out page.html
    "$build"/tests/report/check_page page.html >out || fail "version $version: $(cat out)"
done
finish
