#!/bin/sh
# test_laptop.sh - scale laptop as a new user meets it: planned without its text, refused by a run with the commands that get it,
# refused for other texts, and run on a second text.
# usage: tests/cli/test_laptop.sh BUILD
. tests/cli/expect.sh
text=$PWD/tests/fixtures/checkpoints/text

mkdir "$dir/project"
cd "$dir/project" || exit 1

# A plan needs no text and states the time on this machine.
expect 0 "22 trainings, 50 evaluations: 0 done, 72 to do" "$alibi" plan table5 --scale laptop
grep -q "^about .* on cpu" "$dir/out" || fail "no time in the plan"
expect 0 "^note: left out figure5, .*: scale laptop has no text for cc100, bookcorpus" "$alibi" plan all --scale laptop
[ "$(ls -A)" = "" ] || fail "a plan writes files: $(ls -A)"
expect 65 "scale laptop has no text for dataset 'bookcorpus'" "$alibi" run table8 --scale laptop
expect 66 "run .alibi data fetch wikitext2-4k. and .alibi data prepare wikitext2-4k., or .alibi data prepare wikitext2-4k --text DIR" \
    "$alibi" run table5 --scale laptop --yes
[ "$(wc -l <"$dir/out")" = 1 ] || fail "the refusal has $(wc -l <"$dir/out") lines"

# A second text: its counts come with it. It is tiny, so that the model is too.
expect 0 "208 words" "$alibi" data prepare mine --text "$text"
only="--only L_train=512,L_valid=512"
set -- --scale laptop --set data.corpus=mine
expect 65 "model.cutoffs: .* below data.vocab = 208" "$alibi" plan table5 "$@"
set -- "$@" --set model.cutoffs=64,128 --set train.updates=4 --set train.warmup=1 --set train.period=3
expect 0 "8 done now" "$alibi" run table5 $only "$@" --devices cpu:2
expect 0 "0 done now, 8 before" "$alibi" run table5 $only "$@"
expect 0 "^laptop,wikitext103,mine,1,4$" "$alibi" query \
    "SELECT scale, dataset, corpus, modified, count(*) FROM evaluations GROUP BY 1, 2, 3, 4" --format csv
expect 0 "Scale laptop, modified" "$alibi" report table5 "$@" --no-figure
for method in ALiBi Sinusoidal Rotary "T5 Bias"; do grep -q "^$method .*32 (512) .*[0-9]\.[0-9]" "$dir/out" || fail "no row of $method"; done

# Lengths as before the scale divided by 16: other runs of the same scale, which keep their results and share no table.
mkdir -p configs/scale
sed 's/^divide: 16/divide: 8/' "$source/configs/scale/laptop.yaml" >configs/scale/laptop.yaml
expect 0 "0 done, 8 to do" "$alibi" plan table5 $only "$@"
expect 0 "8 done now" "$alibi" run table5 $only "$@"
expect 0 "^ALiBi .*64 (512) .*[0-9]\.[0-9]" "$alibi" report table5 "$@" --no-figure
! grep -q "32 (512)" "$dir/out" || fail "the table has lengths of both: $(cat "$dir/out")"
rm configs/scale/laptop.yaml
expect 0 "0 done now, 8 before" "$alibi" run table5 $only "$@"
expect 0 "^ALiBi .*32 (512) .*[0-9]\.[0-9]" "$alibi" report table5 "$@" --no-figure
! grep -q "64 (512)" "$dir/out" || fail "the table has lengths of both: $(cat "$dir/out")"
expect 0 "^32,4$" "$alibi" query "SELECT L_train, count(*) FROM evaluations WHERE scale = 'laptop' GROUP BY 1" --format csv
grep -q "^64,4$" "$dir/out" || fail "results are lost: $(cat "$dir/out")"
finish
