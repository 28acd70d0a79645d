#!/bin/sh
# test_completion.sh - completions of commands, options, values, artefacts and runs, requested like bash does.
# usage: tests/cli/test_completion.sh BUILD
# The script of bash needs bash, whichever sh is here.
if [ -z "${BASH_VERSION:-}" ] || [ -n "${POSIXLY_CORRECT+x}" ]; then
    unset POSIXLY_CORRECT
    exec bash "$0" "$@"
fi
. tests/cli/expect.sh
PATH=$(dirname "$alibi"):$PATH
mkdir "$dir/project"
cd "$dir/project" || exit 1
eval "$("$alibi" completion bash)"

# offers "WANT" WORD…: the candidates for the last word, separated by spaces.
offers() {
    want=$1
    shift
    COMP_WORDS=(alibi "$@")
    COMP_CWORD=$#
    _alibi 2>/dev/null
    [ "${COMPREPLY[*]}" = "$want" ] || fail "Tab behind 'alibi $*' offers '${COMPREPLY[*]}', not '$want'"
}

offers "report" rep
offers "table1 table10 table11 table12 table13 table14 table15" run table1 --redo table1
offers "all" plan al
offers "--scale --set --seeds --stale --stall --slurm" run table5 --s
offers "mini small paper none" run --scale ""
offers "mini" report -s m
offers "--trust" report --t
offers "json" report table5 --format = j
offers "list fetch prepare verify" data ""
offers "best last" export --checkpoint ""
offers "model.heads=" run --set model.he
offers "fp32 bf16" run --set train.precision =
offers "rotary" run --set model.position = rota
offers "position=alibi,L_train= position=alibi,L_valid=" plan --only position=alibi,L
offers "alibi,L_train= alibi,L_valid=" plan --only position = alibi,L
offers "" run --tries ""
offers "" nosuch ""
offers "" show ""
expect 0 "" "$alibi" complete
expect 0 "compdef _alibi alibi" "$alibi" completion zsh
expect 0 "complete -c alibi" "$alibi" completion fish
expect 64 "bash, zsh or fish" "$alibi" completion tcsh

# Runs in results.db, by a prefix of their ids.
"$alibi" run table5 --only position=alibi,L_train=64 --set train.updates=2 --quiet >"$dir/out" 2>&1 || fail "a small run"
run=$("$alibi" query "SELECT run_id FROM trainings" --format csv | tail -1)
offers "$run" show "${run:0:8}"

finish
