# expect.sh - shared by the scripts of this folder; each sources it with the build folder as $1 and ends with `finish`.
# Sets alibi (the program) and dir (a fresh folder, deleted at the end).
set -u
source=$PWD
alibi=$(cd "$1" && pwd)/alibi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# expect STATUS WORD command...: checks the exit status and a word of the output, which is in $dir/out
expect() {
    want=$1
    word=$2
    shift 2
    "$@" >"$dir/out" 2>&1 </dev/null
    got=$?
    [ "$got" -eq "$want" ] || { fail "$* exited $got, not $want"; cat "$dir/out"; }
    [ -z "$word" ] || grep -q -- "$word" "$dir/out" || { fail "$*: no '$word' in:"; cat "$dir/out"; }
}

# golden NAME: compares $dir/out with tests/cli/golden/NAME; with TEST_UPDATE=1 replaces that file
golden() {
    if [ -n "${TEST_UPDATE:-}" ]; then
        cp "$dir/out" "$source/tests/cli/golden/$1"
    else
        diff -u "$source/tests/cli/golden/$1" "$dir/out" || fail "golden/$1: review the change and run TEST_UPDATE=1 sh $0"
    fi
}

finish() {
    echo "$failures failures"
    [ $failures -eq 0 ]
}
