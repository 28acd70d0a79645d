#!/bin/sh
# test_outside.sh - files from outside: links, FIFOs, devices and folders where a file is expected, and outputs that cannot
# be written; characters that control a terminal.
# usage: tests/cli/test_outside.sh BUILD
. tests/cli/expect.sh
fixtures=$PWD/tests/fixtures/checkpoints

mkdir "$dir/outside"
tiny_project
tiny_grid g <<'Y'
artefact: g
grid:
  - { position: [alibi, sinusoidal], L_train: [32] }
evaluate:
  - { split: valid, window: nonoverlapping, L_valid: [32] }
Y
expect 0 "4 done now" "$alibi" run g/ --devices cpu:1
first=$("$alibi" query "SELECT min(run_id) FROM trainings" --format csv | tail -n 1 | tr -d '\r')
second=$("$alibi" query "SELECT max(run_id) FROM trainings" --format csv | tail -n 1 | tr -d '\r')

# A corpus changed after its preparation is not trained on.
mkdir "$dir/changed" && cp -r g data "$dir/changed/"
printf x | dd of="$dir/changed/data/tiny/train.tokens" bs=1 seek=3000 conv=notrunc 2>/dev/null
expect 65 "train.tokens: SHA-256 .* prepare the corpus again" "$alibi" run g/ --devices cpu:1 --project "$dir/changed"
[ ! -e "$dir/changed/runs" ] || fail "a run was started on a changed corpus"

# No command blocks on a FIFO in place of FILE; a folder is an error too.
not_a_file() { # FILE command...
    file=$1
    shift
    [ ! -e "$file" ] || mv "$file" "$dir/kept"
    mkfifo "$file"
    expect 65 "$(basename "$file") is not a regular file" timeout 60 "$@"
    rm "$file" && mkdir "$file"
    expect "${folder_status:-65}" "$(basename "$file") is ${folder_message:-not a regular file}" timeout 60 "$@"
    rmdir "$file"
    [ ! -e "$dir/kept" ] || mv "$dir/kept" "$file"
}
not_a_file g/grid.yaml "$alibi" plan g/
not_a_file data/tiny.yaml "$alibi" plan g/
not_a_file g/paper.tsv "$alibi" run g/

# So with if_missing, which leaves out only what is not there, and whose words are one line of text whatever they hold.
mkdir missing && {
    sed '/^artefact:/d; /^grid:/q' g/grid.yaml
    printf '  - { base: [data/tiny.yaml], position: [alibi], L_train: [32] }\n'
    printf '  - { base: ["PIECE"], if_missing: "get\\nnote: \\e[31mall\\r<b>", position: [alibi], L_train: [64] }\n'
    sed -n '/^evaluate:/,$p' g/grid.yaml
} >missing.yaml
piece() { sed "s#PIECE#$1#" missing.yaml >missing/grid.yaml; }
piece piece.yaml
not_a_file piece.yaml "$alibi" plan missing/
expect 0 'note: missing: left out piece.yaml: get\\x0anote: \\x1b\[31mall\\x0d<b>$' "$alibi" plan missing/
ln -s loop.yaml loop.yaml
for path in loop.yaml "$(printf 'x%.0s' $(seq 5000))" ../nothing.yaml '\\n\\e]0;x\\a'; do
    piece "$path"
    expect 0 "^note: missing: left out .*: get" timeout 60 "$alibi" plan missing/
    ! LC_ALL=C grep -q "$(printf '[\001-\010\013-\037]')" "$dir/out" || fail "plan prints control characters of $path"
    [ "$(grep -c '^note: ' "$dir/out")" -eq 1 ] || fail "a path of if_missing makes notes: $(cat "$dir/out")"
done
for path in /etc/passwd /dev/zero ../outside; do
    piece "$path"
    expect 65 "" timeout 60 "$alibi" plan missing/
done
piece '\\0'
expect 65 "NUL" timeout 60 "$alibi" plan missing/
rm -r missing missing.yaml loop.yaml
not_a_file g/query.sql "$alibi" report g/
printf 'rows: position\ncolumns: L_valid\nvalue: perplexity\n' >g/table.txt
not_a_file g/table.txt "$alibi" report g/
rm g/table.txt
not_a_file data/tiny/manifest.yaml "$alibi" data verify tiny
not_a_file data/tiny/dict.txt "$alibi" data verify tiny
not_a_file data/tiny/train.tokens "$alibi" data verify tiny
not_a_file text.dict "$alibi" data prepare other --text "$fixtures/text" --dict text.dict
not_a_file text.zip "$alibi" data fetch wikitext103 --from text.zip
folder_status=64 folder_message="a folder: only --as" not_a_file model.pt "$alibi" import model.pt --as position=alibi,L_train=32 --for ./g/ --force
not_a_file "runs/$first/1/log" "$alibi" logs "$first"
not_a_file "runs/$first/1/events" "$alibi" verify "$first"
not_a_file "runs/$first/1/spec" "$alibi" verify "$first"

# An output file given by the user: the target of a link is replaced; a device or a FIFO stays.
"$alibi" report g/ >"$dir/report" 2>/dev/null
ln -s "$dir/outside/report" link
expect 0 "" "$alibi" report g/ --out link
cmp -s "$dir/report" "$dir/outside/report" || fail "report --out LINK did not make the file that the link names"
echo old >"$dir/outside/report"
expect 0 "" "$alibi" report g/ --out link
[ -L link ] || fail "report --out LINK replaced the link"
cmp -s "$dir/report" "$dir/outside/report" || fail "report --out LINK did not replace the file"
ls -A "$dir/outside" | grep -qv '^report$' && fail "report --out LINK left a file behind"
mkfifo pipe
timeout 60 cat pipe >"$dir/piped" &
expect 0 "" timeout 60 "$alibi" report g/ --out pipe
wait $!
[ -p pipe ] || fail "report --out FIFO replaced the FIFO"
cmp -s "$dir/report" "$dir/piped" || fail "report --out FIFO did not write into it"
expect 73 "is a directory" "$alibi" report g/ --out g
ln -s /dev/full full
expect 74 "No space left" "$alibi" report g/ --out full
[ -L full ] || fail "report --out replaced a link to a device"
mkdir exported
ln -s "$dir/outside/weights" exported/model.safetensors
ln -s "$dir/outside/config" exported/config.json
ln -s "$dir/outside/dict" exported/dict.txt
expect 0 "dict.txt" "$alibi" export "$first" --out exported
[ -s "$dir/outside/weights" ] && [ -s "$dir/outside/config" ] && [ -s "$dir/outside/dict" ] ||
    fail "export replaced links"

# An answer that cannot be printed is an error; a closed pipe is not.
for command in "--version" "--help" "help" "plan --help" "plan g/" "report g/" "report g/ --format json" \
    "report g/ --format html" "claims table5" "query SELECT(1)" "compare position=alibi position=sinusoidal" "status" \
    "show $first" "logs $first" "devices" "doctor" "data list" "completion bash" "gc" "verify"; do
    # shellcheck disable=SC2086 # a command is several words
    timeout 60 "$alibi" $command >/dev/full 2>"$dir/err"
    status=$?
    if [ "$command" = "logs $first" ] && [ ! -s "runs/$first/1/log" ]; then continue; fi
    [ $status -eq 74 ] || fail "alibi $command >/dev/full exited $status"
    grep -q "cannot be written" "$dir/err" || fail "alibi $command >/dev/full: $(cat "$dir/err")"
    # shellcheck disable=SC2086
    { timeout 60 "$alibi" $command 2>"$dir/err"; echo $? >"$dir/status"; } | true
    [ "$(cat "$dir/status")" -eq 0 ] || fail "alibi $command | true exited $(cat "$dir/status")"
    grep -q "written\|UTF-8" "$dir/err" && fail "alibi $command | true: $(cat "$dir/err")"
done
expect 74 "cannot be written" sh -c '"$0" --version >&-' "$alibi"
# An opened file does not get the descriptor of a closed stream, into which messages would go.
mkdir "$dir/fresh" && cp -r g data "$dir/fresh/"
(cd "$dir/fresh" && "$alibi" run g/ --devices cpu:1 2>&-)
grep -q "done" "$dir/fresh/results.db.lock" && fail "messages went into a file: $(cat "$dir/fresh/results.db.lock")"

# What a file holds reaches the terminal without the characters that control it: titles, messages, log files, cells.
harmless() { # WORD command...: prints the word, and no control character but \n and \t; neither C1 nor marks of direction
    word=$1
    shift
    "$@" >"$dir/out" 2>&1 </dev/null
    grep -qF -- "$word" "$dir/out" || fail "$*: no '$word' in: $(cat "$dir/out")"
    bytes=$(LC_ALL=C tr -d '\n\t -~' <"$dir/out" | od -An -tx1 -v | tr -d '\n' | sed 's/ c3 b6//g')
    [ -z "$bytes" ] || fail "$*: prints the bytes $bytes"
}
escape=$(printf '\033]0;x\007\302\233\342\200\256')
mkdir escaping && sed "s/^artefact: g/artefact: escaping/; 2i title: \"\\\\e]0;h\\\\u00f6\\\\a\\\\u009b\\\\u202e\"" g/grid.yaml >escaping/grid.yaml
harmless 'escaping: \x1b]0;hö\x07' "$alibi" plan ./escaping/
harmless '"\x1b"' "$alibi" query "SELECT 1 $escape"
harmless '\x1b]0;x\x07' "$alibi" plan "./$escape/"
harmless '\x1b]0;x\x07' "$alibi" report g/ --scale "$escape"
harmless '\x1b]0;x\x07' "$alibi" "$escape"
cp "runs/$first/1/log" "$dir/log"
printf '%s\nnext\0\n' "$escape" >>"runs/$first/1/log"
harmless '\x1b]0;x\x07' "$alibi" logs "$first"
grep -q '^next.x00$' "$dir/out" || fail "logs joins the lines of a log file"
cp "$dir/log" "runs/$first/1/log"
if command -v python3 >/dev/null 2>&1; then
    mkdir "$dir/foreign" && cp results.db "$dir/foreign/"
    python3 -c 'import sqlite3, sys
c = sqlite3.connect(sys.argv[1])
for name, kind in c.execute("SELECT name, type FROM sqlite_master").fetchall():
    if kind == "trigger": c.execute("DROP TRIGGER " + name)
c.execute("UPDATE run_attempts SET message = ?, host = ?, device = ?", 3 * sys.argv[2:])
c.execute("UPDATE runs SET spec = spec || ?", sys.argv[2:])
c.execute("UPDATE run_settings SET value = value || ?", sys.argv[2:])
c.commit()' "$dir/foreign/results.db" "$escape" || fail "the columns of run_attempts and runs have other names"
    harmless '\x1b]0;x\x07' "$alibi" show "$first" --project "$dir/foreign"
    harmless 'wanted' "$alibi" status --project "$dir/foreign"
fi

# gc deletes the files of superseded attempts, never the targets of links.
expect 0 "4 done now" "$alibi" run g/ --redo --devices cpu:1
mv "runs/$first/1" "$dir/outside/1" && ln -s "$dir/outside/1" "runs/$first/1"
mv "runs/$second" "$dir/outside/$second" && ln -s "$dir/outside/$second" "runs/$second"
find "$dir/outside" | sort >"$dir/before"
expect 0 "runs/$first/1 is kept" "$alibi" gc
grep -q "runs/$second is kept" "$dir/out" || fail "gc does not name a link in place of a run's folder"
grep -q "^2 attempts removed" "$dir/out" || fail "gc did not remove the others: $(cat "$dir/out")"
find "$dir/outside" | sort >"$dir/after"
cmp -s "$dir/before" "$dir/after" || fail "gc deleted what a link leads to"
ls "runs/$first/2/"update-*.safetensors >/dev/null || fail "gc deleted a checkpoint"
rm "runs/$first/1" "runs/$second" && mv "$dir/outside/1" "runs/$first/" && mv "$dir/outside/$second" "runs/"
expect 0 "^2 attempts removed" "$alibi" gc
[ ! -e "runs/$first/1" ] && [ -e "runs/$first/2" ] || fail "gc removed the wrong attempt"

# A rollback journal from elsewhere that names a file of the user: SQLite would delete it.
byte() { printf "\\$(printf %03o $(($1 & 255)))"; }
number() { byte $(($1 >> 24)) && byte $(($1 >> 16)) && byte $(($1 >> 8)) && byte "$1"; }
echo mine >"$dir/outside/mine"
mkdir "$dir/empty"
plant() { # FILE
    sum=$(printf %s "$1" | od -An -v -tu1 | awk '{ for (i = 1; i <= NF; i++) n += $i } END { print n }')
    printf '%0512d%s' 1 "$1"
    number ${#1}
    number "$sum"
    printf '\331\325\005\371\040\241\143\327'
}
for command in gc "run g/ --devices cpu:1" "merge runs" "merge . --project $dir/empty" \
    verify status "query SELECT(1)" "report g/" "show $first" "export $first --out exported" "curves $first"; do
    plant "$dir/outside/mine" >results.db-journal
    # shellcheck disable=SC2086 # a command is several words
    expect 65 "results.db-journal: names another file" "$alibi" $command
    [ -e "$dir/outside/mine" ] || fail "alibi $command deleted the file that a journal names"
    echo mine >"$dir/outside/mine"
done
rm -f results.db-journal "$dir/outside/mine"

# A corpus behind a link: the link is replaced, not its target.
mv data/tiny "$dir/outside/tiny" && ln -s "$dir/outside/tiny" data/tiny
expect 0 "" "$alibi" data prepare tiny --text "$fixtures/text" --force
[ -s "$dir/outside/tiny/train.tokens" ] || fail "data prepare --force deleted what a link leads to"
[ -d data/tiny ] && [ ! -L data/tiny ] || fail "data prepare --force did not make the corpus"

# An unreadable folder is named and sets the exit status, but does not stop the others.
mkdir "$dir/home"
for bad in directory fifo link; do
    rm -rf "$dir/made" "$dir/home"/* && mkdir "$dir/made" && cp -r runs "$dir/made/"
    folder=$dir/made/runs/00000000000000aa
    mkdir -p "$folder/1"
    case $bad in
    directory) mkdir "$folder/1/events" ;;
    fifo) mkfifo "$folder/1/events" ;;
    link) rmdir "$folder/1" && ln -s "$dir/project/runs/$first/2" "$folder/1" ;;
    esac
    expect 65 "^ingested 4 attempts from 5 folders of .*; 1 folders left out (the first: .*00000000000000aa/1: " \
        timeout 60 "$alibi" merge "$dir/made" --project "$dir/home"
    grep -q "1 run folder left out; the first: .*00000000000000aa/1" "$dir/out" || fail "merge, $bad: $(cat "$dir/out")"
    grep -q "copied 4 run folders" "$dir/out" || fail "merge, $bad: $(cat "$dir/out")"
done
# The same in a project with a results.db.
rm -rf "$dir/home"/* "$dir/made" && cp -r "$dir/project" "$dir/made"
mv "$dir/project" "$dir/gone"
rm "$dir/made/runs/$first/2/events" && mkdir "$dir/made/runs/$first/2/events"
cd "$dir" || exit 1
expect 65 "1 run folder left out; the first: .*$first/2" "$alibi" merge "$dir/made" --project "$dir/home"
grep -q "copied 3 run folders" "$dir/out" || fail "merge of a project: $(cat "$dir/out")"
[ ! -e "$dir/home/runs/$first" ] || [ -z "$(ls "$dir/home/runs/$first")" ] || fail "merge left half a folder"
finish
