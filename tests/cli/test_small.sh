#!/bin/sh
# test_small.sh - a part of scale small for a computer without a GPU, as in the README with WikiText-2: rejected
# as a whole, run in part, and marked as modified. The text is tiny, so that its numbers are set too.
# usage: tests/cli/test_small.sh BUILD
. tests/cli/expect.sh
fixtures=$PWD/tests/fixtures/checkpoints

mkdir "$dir/project"
cd "$dir/project" || exit 1
expect 0 "208 words          7347 train        640 valid        581 test" "$alibi" data prepare tiny --text "$fixtures/text"
only="--only L_train=512"
set -- --scale small --set data.corpus=tiny --set data.vocab=208 --set data.train_tokens=7347 \
    --set data.valid_tokens=640 --set data.test_tokens=581 --set model.cutoffs=64,128 --set model.layers=1 \
    --set model.dim=64 --set model.ffn=64 --set train.shard_tokens=128 --set eval.targets=100

# As it is it takes days and wants the text; in part it is known what does not make sense.
expect 64 "reduce it with --only and --set" "$alibi" run table5 --scale small --devices cpu:1
expect 66 "alibi data prepare wikitext2" "$alibi" run table5 --scale small --only L_train=512 --set train.updates=1
expect 65 "train.shard_tokens: 100 is less than one row of train.L = 128" "$alibi" plan table5 $only "$@" --set train.shard_tokens=100
expect 0 "note: .*train.updates 6 ends in the warm-up of 300 updates" "$alibi" plan table5 $only "$@" --set train.updates=6

set -- "$@" --set train.updates=6 --set train.warmup=1 --set train.period=5
expect 0 "4 trainings, 140 evaluations" "$alibi" plan table5 figure1 $only "$@"
expect 0 "144 done now" "$alibi" run table5 figure1 $only "$@" --devices cpu:2
expect 0 "0 done now, 144 before" "$alibi" run table5 figure1 $only "$@"
expect 0 "^144,small,1$" "$alibi" query "SELECT count(*), scale, modified FROM run_list GROUP BY 2, 3" --format csv
expect 0 "Scale small, modified" "$alibi" report table5 "$@"
for method in ALiBi Sinusoidal Rotary "T5 Bias"; do grep -q "^$method .*128" "$dir/out" || fail "no row of $method"; done
expect 0 "modified" "$alibi" report figure1 "$@"
[ -s plots/figure1-small-*.svg ] || command -v gnuplot >/dev/null 2>&1 || echo "skipped: gnuplot is not installed"
! command -v gnuplot >/dev/null 2>&1 || grep -q "modified" plots/figure1-small-*.svg || fail "the figure does not say that it is modified"
expect 0 "0" "$alibi" query "SELECT count(*) FROM comparison WHERE paper IS NOT NULL" --format csv
finish
