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

# tiny_project: makes the project $dir/project with the corpus `tiny`, of 208 words, and changes to it
tiny_project() {
    mkdir "$dir/project" && cd "$dir/project" || exit 1
    expect 0 "208 words" "$alibi" data prepare tiny --text "$source/tests/fixtures/checkpoints/text"
}

# tiny_grid FOLDER [TRAIN [MODEL]] <LINES: writes FOLDER/grid.yaml, which is LINES with the corpus `tiny` and the settings of a model that
# trains in a moment before `grid:`. tiny_pt: MODEL of the checkpoint tiny.pt
tiny_grid() {
    mkdir -p "$1"
    awk -v train="${2:-shard_tokens: 256, updates: 6, lr: 0.5, warmup: 1, period: 5}, clip: 0.1, momentum: 0.9, seed: 1" \
        -v model="${3:-layers: 1, dim: 32, heads: 4, ffn: 64, softmax: plain, final_norm: true}" \
        '/^grid:/ { print "scale: none\nbase: [data/tiny.yaml]\nset:\n  model: { " model " }\n  train: { " train " }" } { print }' >"$1/grid.yaml"
}
tiny_pt="layers: 2, dim: 32, heads: 4, ffn: 64, softmax: adaptive, cutoffs: [64, 128], adaptive_factor: 2, final_norm: false"

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
