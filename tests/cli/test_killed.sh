#!/bin/sh
# test_killed.sh - kill -9 at every call with which a command changes files: `alibi import FOLDER`, `data prepare`, evaluations
# with a datastore (kNN-LM; also between the batches of its passes and searches), `export --losses`. The next call does the whole
# work, and nothing is left but its files and at most temporary ones. So after power cuts.
# usage: tests/cli/test_killed.sh BUILD
. tests/cli/expect.sh
needs_faults
fixtures=$PWD/tests/fixtures
powercut=${alibi%/alibi}/faults/powercut
query() { "$alibi" query "$1" --format csv --project "$2" | tail -n +2 | tr -d '\r'; }
cd "$dir" || exit 1
mkdir plain reference start
tiny_grid g <<'Y'
artefact: g
grid:
  - { position: [alibi], L_train: [32] }
evaluate:
  - { split: valid, window: nonoverlapping, L_valid: [32] }
  - { split: valid, window: sliding, stride: 1, L_valid: [16], targets: 64, eval.knn_neighbours: 4, eval.knn_window: 32,
      eval.knn_stride: 16, eval.knn_lambda: [0.1, 0.25] }
Y
grep -v knn_ g/grid.yaml >plain/grid.yaml # the training and the other evaluation

# step NAME PROJECT [WRAPPER...]: runs it there
step() {
    name=$1
    project=$2
    shift 2
    case $name in
    import) "$@" "$alibi" import "$fixtures/open/llama_complete" --as llama --project "$project" ;;
    prepare) "$@" "$alibi" data prepare tiny --text "$fixtures/checkpoints/text" --project "$project" ;;
    train) "$@" "$alibi" run "$dir/plain/" --devices cpu:1 --project "$project" ;;
    knn) "$@" "$alibi" run "$dir/g/" --devices cpu:1 --project "$project" ;;
    losses) "$@" "$alibi" export "$run" --losses "$project/losses.tsv" --project "$project" ;;
    esac
}

# made NAME PROJECT: what the step has made there, without what depends on time
made() {
    case $1 in
    knn) query "SELECT run_id, perplexity, checkpoint_sha256 FROM evaluations ORDER BY run_id" "$2" ;;
    losses) (cd "$2" && ls -A . runs | grep -v '\.tmp-[0-9]*$' && cksum <losses.tsv) ;;
    *) (cd "$2" && find . -type f ! -name '*.lock' ! -name '*.tmp-[0-9]*' -exec cksum {} + | sort) ;;
    esac
}

strike() { # NAME CALL K: false if no process makes so many such calls
    rm -rf struck && cp -r start struck
    { step "$1" struck traced -f -q -o trace -e signal=none -e "trace=$2" -e "inject=$2:signal=SIGKILL:when=$3" \
        >killed 2>&1 </dev/null; } 2>/dev/null
    grep -q ' = ?$' trace || return 1
    injected=$((injected + 1))
    for spec in $(grep -ls knn_ struck/runs/*/*/spec); do # its first record is there, and no result
        grep -qs '"backend"' "${spec%spec}events" && ! grep -qs '"perplexity"' "${spec%spec}events" && under_way=$((under_way + 1))
    done
    expect 0 "" step "$1" struck
    made "$1" struck | diff expected - >left || fail "$1 killed at $2 $3: $(cat left)"
}

# strikes NAME CALL:STRIDE...: the step from `start`, killed at every so many calls of a kind
strikes() {
    name=$1
    shift
    injected=0
    rm -rf reference && cp -r start reference
    expect 0 "" step "$name" reference
    made "$name" reference >expected
    for each in "$@"; do
        k=1
        while [ $k -lt 400 ] && strike "$name" "${each%:*}" $k; do k=$((k + ${each#*:})); done
    done
    [ $injected -gt 5 ] || fail "$name: only $injected calls were struck: $(cat killed)"
    echo "$name: $injected"
    all=$((all + injected))
}

# cuts NAME N: N power cuts at random moments of the step, each followed by a whole one
cuts() {
    rm -rf traced && cp -r start traced
    expect 0 "" step "$1" "$dir/traced" traced -f -qq -y -xx -s 99999999 -o trace -e signal=none -e trace=openat,mkdir,mkdirat,unlink,unlinkat,rename,renameat,renameat2,write,pwrite64,ftruncate,fsync,fdatasync
    i=0
    while [ $i -lt "$2" ]; do
        i=$((i + 1))
        rm -rf cut struck && cp -r start struck
        expect 0 "cut after" "$powercut" trace "$dir/traced" "$dir/cut" $i
        cp -a cut/. struck
        expect 0 "" step "$1" struck
        made "$1" struck | diff expected - >left || fail "$1 after power cut $i: $(cat left)"
    done
    all=$((all + i))
}

all=0
strikes import openat:14 mkdir:1 write:2 fsync:1 rename:1 unlink:1 # most openat open files of the system
cuts import 20
strikes prepare openat:14 mkdir:1 write:6 fsync:1 rename:1 unlink:1
cuts prepare 20
rm -rf start && mv reference start
expect 0 "2 done now" step train start
under_way=0
strikes knn openat:60 mkdir:1 write:3 fsync:3 rename:1 rt_sigtimedwait:1
[ $under_way -ge 15 ] || fail "only $under_way attempts with a datastore were struck under way"
rm -rf start && mv reference start
run=$(query "SELECT run_id FROM evaluations WHERE settings LIKE '%knn%' LIMIT 1" start)
strikes losses openat:40 mkdir:1 write:3 fsync:1 rename:1 unlink:2
cuts losses 20
echo "$all faults injected"
finish
