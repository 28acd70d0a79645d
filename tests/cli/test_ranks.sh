#!/bin/sh
# test_ranks.sh - one training by two processes: its files are those of one process, `alibi verify` repeats it with one, and its speed
# is in no table.
# usage: tests/cli/test_ranks.sh BUILD
. tests/cli/expect.sh

tiny_project
tiny_grid g "shards: 3, shard_tokens: 64, updates: 24, lr: 0.5, warmup: 1, period: 23" <<'Y'
artefact: g
title: "Ranks"
grid:
  - { position: alibi, L_train: 16, seed: [1, 2] }
evaluate:
  - { split: valid, L_valid: 16 }
Y
printf 'title: Ranks\nrows: method\ncolumns: L_valid\nvalue: perplexity\nextra: train_wps | words/s | %%.0f | 1\n' >g/table.txt
query() { "$alibi" query "$1" --format csv | tr -d '\r' | tail -n +2; }

expect 64 "--ranks: run .*: 8 ranks for train.shards = 3; use 2 or 4" "$alibi" plan g/ --ranks 8
expect 0 "" "$alibi" run g/ --devices cpu:2 --ranks 2
[ "$(query "SELECT group_concat(DISTINCT kind || ' ' || ranks) FROM attempts JOIN run_list USING (run_id) ORDER BY 1")" = '"train 2,eval 1"' ] ||
    fail "the ranks of attempts: $(query "SELECT kind, ranks FROM attempts JOIN run_list USING (run_id)")"
two=$(query "SELECT seed, best_sha256, last_sha256 FROM trainings ORDER BY seed")
expect 0 "4 runs reproduced, 0 wrong" "$alibi" verify --updates 24
expect 0 "ranks  *2" "$alibi" show "$(query "SELECT run_id FROM trainings LIMIT 1")"
expect 0 "ALiBi .* –$" "$alibi" report g/

expect 64 "--ranks: run .*: 8 ranks for train.shards = 3; use 2 or 4" "$alibi" run g/ --devices cpu:8 --redo --ranks 8
# One process gives the same files. The speed in the table is that of its training alone.
expect 0 "" "$alibi" run g/ --devices cpu:2 --redo --only seed=1
one=$(query "SELECT seed, best_sha256, last_sha256 FROM trainings ORDER BY seed")
[ "$one" = "$two" ] || fail "two ranks: $two, one: $one"
[ "$(query "SELECT group_concat(ranks) FROM (SELECT ranks FROM trainings ORDER BY seed)")" = '"1,2"' ] || fail "the ranks of trainings"
expect 0 "ALiBi .* $(query "SELECT printf('%.0f', train_wps) FROM trainings WHERE ranks = 1")$" "$alibi" report g/
finish
