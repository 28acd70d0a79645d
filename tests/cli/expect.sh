# expect.sh - shared by the scripts of this folder; each sources it with the build folder as $1 and ends with `finish`.
# Sets alibi (the program) and dir (a fresh folder, deleted at the end).
set -u
source=$PWD
alibi=$(cd "$1" && pwd)/alibi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_STATE_HOME="$dir/state" # where alibi remembers what the user trusts
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

alibi() { "$alibi" "$@"; }

# traced OPTION... COMMAND...: strace of a command. LeakSanitizer, of the build by `make asan`, does not work under it
traced() { ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" strace "$@"; }

# can_inject: succeeds where strace can inject faults. needs_faults: ends the script where it cannot
can_inject() {
    strace -o /dev/null -e inject=fsync:error=EIO true 2>/dev/null && return
    echo "skipped: strace cannot inject faults here, so that nothing is killed"
    return 1
}
needs_faults() { can_inject || { finish; exit; }; }

# transcript NAME: runs the commands of golden/NAME, the lines that begin with `$ `, and compares their output and exit status;
# lines that begin with `# ` are comments
transcript() {
    grep '^[$#] ' "$source/tests/cli/golden/$1" | while read -r kind command; do
        echo "$kind $command"
        [ "$kind" = "$" ] || continue
        eval "$command" 2>&1 </dev/null || echo "exit status $?"
        echo
    done | sed -e "s#$dir#DIR#g" -e "s#$source#SOURCE#g" >"$dir/out"
    golden "$1"
}

# find_torch: sets python to one that can import torch; TORCH_PYTHON names one to try first. WHAT is not run without it
find_torch() { # WHAT
    for python in ${TORCH_PYTHON:-} python3 /usr/bin/python3; do
        "$python" -c 'import torch' 2>/dev/null && return
    done
    echo "skipped: no python3 here can import torch, so $1; TORCH_PYTHON names one that can"
    false
}

finish() {
    echo "$failures failures"
    [ $failures -eq 0 ]
}
