#!/bin/sh
# check_slurm.sh - trainings with ranks as jobs of a real Slurm: two nodes of two tasks give the weights files of one process,
# byte for byte, also after a task was killed and after Ctrl-C. FOLDER is new, on a file system that the nodes share. Skipped
# without a cluster of two nodes. Tasks are killed only where the nodes are this machine. usage: check_slurm.sh BUILD FOLDER
. tests/cli/expect.sh
nodes=$(sinfo --noheader --format=%D --states=idle 2>/dev/null | paste -sd+ | sed 's/^$/0/')
if [ $((nodes)) -lt 2 ]; then
    echo "skipped: check_slurm.sh needs Slurm with two idle nodes; sinfo shows $((nodes))"
    exit 0
fi
project=${2:?usage: check_slurm.sh BUILD FOLDER}
mkdir "$project" "$project/grid" || exit 1
cat >"$project/grid/grid.yaml" <<'END'
artefact: grid
title: "A small grid"
scale: mini
base: [model/wt103_247m.yaml, data/wikitext103.yaml, train/wikitext103.yaml]
grid:
  - { position: alibi, L_train: 512 }
evaluate:
  - { split: valid, window: nonoverlapping, L_valid: [512] }
END
run() { # name options...: the grid in a project of its own
    name=$1
    shift
    mkdir -p "$project/$name"
    "$alibi" run "$project/grid/" --project "$project/$name" --set train.updates=$updates --set train.shards=6 \
        --set train.shard_tokens=128 --set eval.targets=768 "$@"
}
query() { "$alibi" query --project "$project/$1" --format csv "$2" 2>/dev/null | tail -n +2; }
weights() { (cd "$project/$1" && sha256sum runs/*/*/update-*$updates.safetensors | sed -E 's#/[0-9]+/#/n/#'); } # of the last update
same() { # name: the weights of one process
    weights "$1" >"$dir/$1"
    [ -s "$dir/$1" ] && cmp "$dir/one" "$dir/$1" || fail "$1: other weights than one process gives"
}
begin_run() { # name options...: in the background, until a training has made progress; sets scheduler to its number
    run "$@" >"$dir/$1.out" 2>&1 &
    shell=$!
    until [ "$(query "$1" "SELECT count(*) > 0 FROM progress WHERE done > 2")" = 1 ]; do
        kill -0 $shell 2>/dev/null || { fail "$1: ended without progress: $(cat "$dir/$1.out")"; return 1; }
        sleep 0.2
    done
    scheduler=$(cat "/proc/$shell/task/$shell/children")
}

updates=1500
expect 0 "done now" run one --devices cpu:1
weights one >"$dir/one"
expect 0 "done now" run four --devices slurm:1 --ranks 4 --ranks-per-node 2
same four
[ "$(query four "SELECT max(ranks) FROM attempts")" = 4 ] || fail "the trainings did not have 4 ranks"

# A process of the second node dies: its attempt is lost, and another job finishes the training.
if begin_run killed --devices slurm:1 --ranks 4 --ranks-per-node 2; then
    for process in /proc/[0-9]*; do
        case $(cat "$process/cmdline" 2>/dev/null | tr '\0' ' ') in *" worker "*"--rank 3 "*"$project/killed/"*) kill -9 "${process#/proc/}" ;; esac
    done
    wait $shell || fail "killed: exit $?: $(cat "$dir/killed.out")"
    [ "$(query killed "SELECT count(*) FROM attempts WHERE state = 'lost' AND message LIKE 'rank 3 on %'")" = 1 ] ||
        fail "no attempt was lost with rank 3: $(query killed "SELECT state, message FROM attempts")"
    same killed
fi

# Ctrl-C: all ranks end after a checkpoint, from which another number of ranks continues.
if begin_run stopped --devices slurm:1 --ranks 4 --ranks-per-node 2; then
    kill -INT $scheduler
    wait $shell
    [ $? -eq 130 ] || fail "stopped: $(cat "$dir/stopped.out")"
    [ "$(query stopped "SELECT state || exit_code FROM attempts")" = cancelled130 ] ||
        fail "stopped: $(query stopped "SELECT state, exit_code, message FROM attempts")"
    ls "$project"/stopped/runs/*/1/update-*.state.safetensors >/dev/null 2>&1 || fail "no checkpoint was written"
    expect 0 "done now" run stopped --devices slurm:1 --ranks 2 --ranks-per-node 1
    grep -q "resuming after update" "$project"/stopped/runs/*/2/log || fail "the training did not resume"
    same stopped
fi
finish
