#!/bin/sh
# test_killed.sh - kill -9 at every call with which `alibi import FOLDER` changes files: the next call does the whole work, and
# nothing is left but its file and at most a temporary one.
# usage: tests/cli/test_killed.sh BUILD
. tests/cli/expect.sh
if ! strace -o /dev/null -e inject=fsync:error=EIO true 2>/dev/null; then
    echo "skipped: strace cannot inject faults here"
    finish
fi
model=$PWD/tests/fixtures/open_models/complete/llama_complete
cd "$dir" || exit 1
mkdir reference
expect 0 "wrote" "$alibi" import "$model" --as llama --project reference
files() { (cd "$1" && find . -type f ! -name '*.lock' ! -name '*.tmp-[0-9]*' | sort); }
files reference >expected

injected=0
strike() { # CALL K: false if the import makes fewer such calls
    rm -rf project && mkdir project
    { strace -qq -o /dev/null -e signal=none -e "trace=$1" -e "inject=$1:signal=SIGKILL:when=$2" \
        "$alibi" import "$model" --as llama --project project >killed 2>&1 </dev/null; } 2>/dev/null && return 1
    injected=$((injected + 1))
    expect 0 "" "$alibi" import "$model" --as llama --project project
    files project | diff expected - >left || fail "killed at $1 $2: $(cat left)"
    while read -r file; do
        cmp -s "reference/$file" "project/$file" || fail "killed at $1 $2: $file differs"
    done <expected
}
for call in openat mkdir write fsync rename unlink; do
    k=1
    step=1
    [ $call = openat ] && step=7 # most of them open files of the system
    while [ $k -lt 400 ] && strike $call $k; do k=$((k + step)); done
done
[ $injected -gt 10 ] || fail "only $injected calls were struck: $(cat killed)"
echo "$injected faults injected"
finish
