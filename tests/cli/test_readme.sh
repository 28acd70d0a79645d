#!/bin/sh
# test_readme.sh - every command of README.md runs: each sh block in order, then the commands of its comments and of the text. They run
# in a folder like a fresh clone, whose build is this one. What needs packages, minutes or the network has a stand-in:
#   make TARGETS                make -n: the targets exist, and so do the files they need
#   alibi data fetch NAME       NAME can be fetched
#   alibi data prepare NAME     after it: a text of the test is prepared, as mytext, which takes its place in the grid
#   alibi run                   as it is, with 4 updates a training
# usage: tests/cli/test_readme.sh BUILD
. tests/cli/expect.sh
build=$(cd "$1" && pwd)

cd "$dir" || exit 1
for name in "$source"/*; do
    case ${name##*/} in build | data | runs | plots | results.db*) ;; *) ln -s "$name" . ;; esac
done
ln -s "$build" build
mkdir bin DIR mygrid
awk 'BEGIN { for (i = 0; i < 12000; i++) print "the word" i, "and the word" (i * 7) % 50 }' >DIR/train.txt
tail -n 400 DIR/train.txt >DIR/valid.txt
cp DIR/valid.txt DIR/test.txt
printf '#!/bin/sh\nexec %s -n "$@" >/dev/null\n' "$(command -v make)" >bin/make
cat >bin/alibi <<S
#!/bin/sh
case "\$1 \$2 \$#" in
"data fetch 3") "$alibi" data list | grep -q "^can be fetched: \$3 " || { echo "\$3 cannot be fetched"; exit 1; } ;;
"data prepare 3") exec "$alibi" data prepare mytext --text ./DIR --force ;;
*) exec "$alibi" "\$@" ;;
esac
S
chmod +x bin/*
PATH=$dir/bin:$PATH

blocks() { # LANGUAGE FILE: its fenced blocks
    awk -v fence="\`\`\`$1" '/^```/ { inside = $0 == fence; next } inside' "$2"
}
spans() { # FILE: the commands in comments of sh blocks and in code spans of the text
    blocks sh "$1" | sed -n 's/.*# .*\(alibi [a-z].*\)/\1/p; s/.*# .*\(make [a-z].*\)/\1/p'
    awk '/^```/ { inside = !inside } !inside' "$1" | grep -oE '`(make|alibi) [^`]*`' | tr -d '`'
}
follow() { # FILE: runs its commands up to the first that fails
    { echo "exec 2>&1"; blocks sh "$1" && spans "$1"; } | sed 's/ && /\n/g' >commands # -e ignores the first command of a list
    blocks yaml "$1" | sed 's/wikitext2/mytext/' >mygrid/grid.yaml
    echo "set: { train: { updates: 4, warmup: 1, period: 3 }, eval: { targets: 256 } }" >>mygrid/grid.yaml
    rm -rf results.db* runs data
    sh -ex commands
}
expect 0 "18 done now" follow README.md
for command in "make deps reproduce-table5" "alibi data fetch wikitext2" "alibi plan ./mygrid/" "alibi query" "make published" "alibi data prepare mytext"; do
    grep -q -- "^+ $command" out || fail "$command was not run"
done
grep -qE "^rotary +eval.attention_window=64 +512 " out || { fail "the query shows no rows"; cat out; }

# A command, a target, a corpus or a column that does not exist is found, wherever README names it.
for change in 's/make deps check/make deps chekc/' 's/alibi plan/alibi plann/' 's/fetch wikitext2/fetch wikitext4/' 's/all_settings,/settings_all,/' \
    's/`make help`/`make hlep`/' 's/# yours: alibi data prepare mytext/# yours: alibi data prepar mytext/' 's/`make published`/`make publish`/'; do
    sed "$change" README.md >changed.md
    cmp -s README.md changed.md && fail "README.md has nothing for $change"
    follow changed.md >out 2>&1 && fail "not found: $change"
done
finish
