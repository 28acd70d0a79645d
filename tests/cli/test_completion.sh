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

# tab WORD…: the candidates for the last word
tab() {
    COMP_WORDS=(alibi "$@")
    COMP_CWORD=$#
    _alibi 2>/dev/null
    echo "${COMPREPLY[*]}"
}

transcript completion.txt
expect 0 "" "$alibi" complete
expect 0 "compdef _alibi alibi" "$alibi" completion zsh
expect 0 "complete -c alibi" "$alibi" completion fish

# Runs in results.db, by a prefix of their ids.
"$alibi" run table5 --only position=alibi,L_train=64 --set train.updates=2 --quiet >"$dir/out" 2>&1 || fail "a small run"
run=$("$alibi" query "SELECT run_id FROM trainings" --format csv | tail -1)
[ "$(tab show "${run:0:8}")" = "$run" ] || fail "no completion of a run"

finish
