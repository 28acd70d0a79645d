#!/bin/sh
# test_pretrained.sh - models in Hugging Face format: import, refusals, evaluations beside the numbers of transformers, folders
# that change, a killed worker, the artefact open_models.
# usage: tests/cli/test_pretrained.sh BUILD
. tests/cli/expect.sh
fixtures=$PWD/tests/fixtures
query() { "$alibi" query "$1" --format csv | tail -n +2 | tr -d '\r'; }

# Evaluation rules, and blocks of a grid, as text.
grid() { # FOLDER BLOCKS RULES
    mkdir -p "$1"
    printf 'artefact: %s\ntitle: x\nscale: none\nset: { data.dataset: text }\ngrid:\n%s\nevaluate:\n%s\n' "$1" "$2" "$3" >"$1/grid.yaml"
}
block() { echo "  - { base: [data/models/$1.yaml, data/w-$2.yaml] }"; }
wait_for() { # SECONDS command...: until it succeeds
    left=$1
    shift
    while ! "$@" >/dev/null 2>&1; do
        [ "$left" -gt 0 ] || return 1
        left=$((left - 1))
        sleep 0.1 # a process of our own is about to make it true
    done
}

# Each broken folder: exit 65, 66 or 69, one line with the words of the specification, and nothing is left.
tar -xzf "$fixtures/open_models/broken.tar.gz" -C "$dir"
mkdir "$dir/empty"
cd "$dir" || exit 1
while IFS='|' read -r name words; do
    "$alibi" import "broken/$name" --project empty >out 2>err </dev/null
    rc=$?
    case $name:$rc in
    valid*:0) rm -r empty/data; continue ;;
    valid*) fail "import broken/$name exited $rc: $(cat err)"; continue ;;
    *:65 | *:66 | *:69) ;;
    *) fail "import broken/$name exited $rc: $(cat err)" ;;
    esac
    [ "$(wc -l <err)" -eq 1 ] && [ ! -s out ] || fail "import broken/$name: not one line: $(cat out err)"
    echo "$words" | tr '|' '\n' >each
    while read -r word; do grep -qF -- "$word" err || fail "import broken/$name: no '$word' in: $(cat err)"; done <each
    [ -z "$(ls empty)" ] || { fail "import broken/$name left $(ls empty)"; rm -r empty/*; }
done <broken/expect
expect 0 "note       bytes without a symbol, which a text loses: 0x41$" "$alibi" import broken/valid_byte_missing --as lacks
expect 64 "not a valid name of a model" "$alibi" import broken/valid --as ../x
expect 64 "only --as, --tokenizer and --force" "$alibi" import broken/valid --for table5
expect 64 "is not a folder in Hugging Face format" "$alibi" import broken/expect --tokenizer broken/valid
expect 0 "260 ids of 300" "$alibi" import broken/tokenizer_missing --tokenizer broken/valid --as other
[ ! -e results.db ] && [ ! -e runs ] || fail "an import wrote results"

# Models with their texts, beside the numbers of transformers.
mkdir c && cp -r "$fixtures"/open*/*_complete c/
for m in bloom llama neox; do
    expect 0 "wrote      data/models/$m.yaml" "$alibi" import c/${m}_complete --as $m
    mkdir t-$m && cp "$fixtures/open/text.txt" t-$m/test.txt
    expect 0 "tokenizer ${m}_complete" "$alibi" data prepare w-$m --tokenizer c/${m}_complete --text t-$m
done
expect 64 "is another model" "$alibi" import c/llama_complete --as bloom
expect 0 "^# .* parameters, heads of width 8\.$" cat data/models/llama.yaml
! grep -q norm_bias data/models/llama.yaml || fail "the piece of a model with rmsnorm has a key of layernorm"
grep -q "norm_bias: true" data/models/bloom.yaml || fail "the piece of a model with layernorm lacks norm_bias"
grid g "$(for m in bloom llama neox; do block $m $m; done)
  - { base: [data/models/absent.yaml, data/w-neox.yaml], if_missing: 'how to get it' }" "
  - { split: test, L_valid: [16, 32, 48] }
  - { split: test, window: sliding, stride: [1, 5, 16], L_valid: 32 }
  - { split: test, window: sliding, stride: 1, L_valid: 48 }
  - { split: test, window: rolling, L_valid: [32, 48] }"
expect 0 "left out data/models/absent.yaml: how to get it" "$alibi" plan g/
expect 0 "0 trainings, 27 evaluations: 0 done, 27 to do.*of memory for the model of a run" "$alibi" plan g/ --seeds 3
grep -q "model bloom: bloom, ALiBi, L_train=2048, 110 kB of F32 in" out || fail "the plan does not say where the weights are"
expect 0 "27 done now" "$alibi" run g/ --devices cpu:2
for m in bloom llama neox; do
    tr '{' '\n' <c/${m}_complete/expected.json | sed -n 's/.*"protocol": "\([a-z]*\)", "L": \([0-9]*\), "stride": \([0-9]*\),.*"nll": \([0-9.]*\),.*/\1 \2 \3 \4/p' >wanted
    [ "$(wc -l <wanted)" -ge 9 ] || fail "$m: no numbers in expected.json"
    while read -r protocol L stride nll; do
        ours=$(query "SELECT loss_nats * tokens FROM evaluations WHERE model = '$m' AND protocol = '$protocol' AND L_valid = $L AND (stride = $stride OR stride IS NULL) AND settings = ''")
        [ -n "$ours" ] || continue
        awk -v a="$ours" -v b="$nll" 'BEGIN { d = a / b - 1; exit !(d < 1e-5 && d > -1e-5) }' || fail "$m $protocol $L $stride: $ours is not $nll"
        echo x >>compared
    done <wanted
done
[ "$(wc -l <compared)" -ge 24 ] || fail "only $(wc -l <compared) numbers were compared"
[ "$(query "SELECT DISTINCT origin || ' ' || seed FROM evaluations UNION SELECT origin || ' ' || coalesce(updates, 'none') || ' ' || coalesce(final_loss_nats, 'none') FROM trainings")" = "pretrained 0
pretrained none none" ] || fail "a pretrained model has a seed, updates or a loss"
expect 0 "nothing to start, 27 runs are done" "$alibi" run g/ --devices cpu:1
expect 0 "0 wrong" "$alibi" verify
run=$(query "SELECT run_id FROM evaluations WHERE model = 'llama' AND protocol = 'rolling' LIMIT 1")
expect 0 "evaluation reproduced" "$alibi" verify "$run" --updates 1
expect 64 "nothing to export" "$alibi" export "$run"

# Each target's loss: the sum is the recorded one, and with one document in a window each is that of transformers.
expect 0 "their sum is the recorded one" "$alibi" export "$run" --losses losses.tsv
[ "$(awk 'NR > 1 { n++; sum += $3; if ($1 != NR - 2) exit 1 } END { printf "%d %.9g", n, sum }' losses.tsv)" = \
    "$(query "SELECT printf('%d %.9g', tokens, loss_nats * tokens) FROM evaluations WHERE run_id = '$run'")" ] || fail "losses of targets do not add up to the result"
cp losses.tsv kept.tsv
expect 64 "cannot be combined" "$alibi" export "$run" --losses losses.tsv --out x
expect 66 "is not a finished evaluation" "$alibi" export "$(query "SELECT DISTINCT train_run_id FROM evaluations WHERE model = 'llama'")" --losses losses.tsv
mv c/llama_complete c/away
expect 69 "llama_complete/config.json: No such file" "$alibi" export "$run" --losses losses.tsv
mv c/away c/llama_complete
cmp -s losses.tsv kept.tsv || fail "an evaluation that failed changed the file of losses"
[ -z "$(find . -name '*.tmp-*' -o -name '.verify-*')" ] || fail "an export of losses left $(find . -name '*.tmp-*' -o -name '.verify-*')"
if command -v python3 >/dev/null 2>&1; then
    for m in neox_pythia qwen2_bias; do
        mkdir ids-$m
        prefix=$(python3 "$source/tests/pretrained/token_losses.py" write "$fixtures/open/$m" ids-$m)
        expect 0 "" "$alibi" import "$fixtures/open/$m" --tokenizer ids-$m --as $m
        expect 0 "" "$alibi" data prepare w-$m --tokenizer ids-$m --prefix "$prefix" --text ids-$m
        grid tokens-$m "$(block $m $m)" "
  - { split: test, L_valid: 64 }"
        expect 0 "1 done now" "$alibi" run tokens-$m/ --devices cpu:1
        expect 0 "" "$alibi" export "$(query "SELECT run_id FROM evaluations WHERE model = '$m'")" --losses losses.tsv
        expect 0 "losses, largest difference" python3 "$source/tests/pretrained/token_losses.py" compare "$fixtures/open/$m" losses.tsv
        rm -r ids-$m data/models/$m.yaml tokens-$m
    done
else
    echo "skipped: python3 is not installed, so losses by token were not compared with those of transformers"
fi
cp -r "$dir" "$dir.rebuilt" && rm "$dir.rebuilt/results.db"*
expect 0 "ingested" "$alibi" merge runs/ --project "$dir.rebuilt"
expect 0 "nothing to start, 27 runs are done" "$alibi" run g/ --devices cpu:1 --project "$dir.rebuilt"
rm -rf "$dir.rebuilt"

# Other settings of an evaluation, and what is refused by name.
grid more "$(block bloom bloom)" "
  - { split: test, L_valid: 48, eval.attention_window: 16, eval.attention_sinks: 2 }
  - { split: test, L_valid: 48, eval.attention_rows: 2 }
  - { split: test, L_valid: { times: [0.1, 0.25] } }"
expect 0 "4 done now" "$alibi" run more/ --devices cpu:1
[ "$(query "SELECT group_concat(L_valid, ' ') FROM (SELECT L_valid FROM evaluations WHERE L_valid > 100 ORDER BY 1)")" = "205 512" ] || fail "times: is not a multiple of L_train"
mkdir words && for s in train valid test; do echo "a b c d e f g h" >words/$s.txt; done
expect 0 "" "$alibi" data prepare w-words --text words
rule="
  - { split: test, L_valid: 20 }"
grid g2 "$(block bloom neox)" "$rule"
expect 65 "w-neox has the ids of another tokenizer (neox_complete" "$alibi" run g2/ --devices cpu:1
expect 0 "note: data/w-neox has the ids of another tokenizer" "$alibi" plan g2/
grid g2 "$(block bloom words)" "$rule"
expect 65 "words of a dictionary, not the ids of bloom's tokenizer" "$alibi" run g2/ --devices cpu:1
grid g2 "$(block bloom bloom)" "$rule"
expect 65 "model.activation = silu, but gelu_tanh in" "$alibi" run g2/ --devices cpu:1 --set model.activation=silu
printf 'artefact: b\ntitle: x\nscale: none\nbase: [data/models/bloom.yaml, data/w-bloom.yaml]\nset: { train.shard_tokens: 64 }\ngrid:\n  - { kind: bench, mode: eval }\n' >g2/grid.yaml
expect 65 "evaluated only, without kind: bench" "$alibi" plan g2/
printf 'artefact: c\ntitle: x\nscale: none\nbase: [data/models/bloom.yaml, data/w-bloom.yaml]\ngrid:\n  - {}\n  - { train.origin: trained, L_train: 64, train.shard_tokens: 64, train.updates: 9, train.warmup: 1, train.period: 8, train.lr: 1, train.continues: weights, from: { L_train: 2048 } }\n' >g2/grid.yaml
expect 65 "is a pretrained model, which is evaluated only" "$alibi" plan g2/
mkdir open && printf 'artefact: open\ntitle: x\nscale: none\nbase: [model/open/gpt2.yaml, data/w-bloom.yaml]\ngrid:\n  - {}\nevaluate:\n  - { split: test, L_valid: [1024, 1025] }\n' >open/grid.yaml
expect 0 "124,439,808" "$alibi" plan open/ --all
grep -q "L_valid 1025 .*not defined beyond L_train" out || fail "learned positions do not end at L_train"
expect 66 "gpt2 is not imported" "$alibi" run open/ --devices cpu:1
sed -i 's/gpt2/mpt-7b/; s/\[1024, 1025\]/2048/' open/grid.yaml
expect 0 "1 run needs more than the 24 GB of its memory" "$alibi" plan open/ --devices rtx3090 # where it is not streamed

# A folder that changes: before a run, while it is elsewhere, and during a run.
grid late "$(block bloom bloom)" "
  - { split: test, L_valid: [17, 19] }"
cp -r c/bloom_complete kept
printf x | dd of=c/bloom_complete/model.safetensors bs=1 seek=109000 conv=notrunc 2>/dev/null
expect 65 "c/bloom_complete/model.safetensors: SHA-256 is" "$alibi" run late/ --devices cpu:1 --tries 1
expect 65 "c/bloom_complete/model.safetensors: SHA-256 is" "$alibi" verify
cp kept/model.safetensors c/bloom_complete/
mv c/bloom_complete c/elsewhere
expect 66 "c/bloom_complete/config.json: No such file" "$alibi" run late/ --devices cpu:1 --tries 1
[ "$(query "SELECT count(*) FROM evaluations WHERE L_valid IN (17, 19)")" = 0 ] || fail "a folder that is not there gave a number"
expect 0 "" "$alibi" import c/elsewhere --as bloom
expect 0 "2 done now" "$alibi" run late/ --devices cpu:1
expect 0 "nothing to start" "$alibi" run g/ --devices cpu:1
expect 0 "1 done now" "$alibi" run late/ --devices cpu:1 --redo --only L_valid=17

# Long enough to be disturbed; a sanitizer's build is slower by itself.
case $alibi in */asan/alibi) copies="1 2 3 4 5 6" ;; *) copies="1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20" ;; esac
mkdir long && for i in $copies; do cat "$fixtures/open/text.txt"; done >long/test.txt
expect 0 "" "$alibi" data prepare w-long --tokenizer c/elsewhere --text long
grid slow "$(block bloom long)" "
  - { split: test, window: sliding, stride: 16, L_valid: [100, 200] }
  - { split: test, window: sliding, stride: 4, L_valid: [438, 439, 440] }"
started() { [ "$(query "SELECT count(*) FROM progress WHERE done > 0")" -gt 0 ]; }
slow() { # what to do to the folder while the worker evaluates; WORD of the failure; STATUS
    "$alibi" run slow/ --devices cpu:1 --tries 1 >out 2>&1 &
    wait_for 300 started || fail "the evaluation did not start"
    $1
    wait $!
    [ $? -eq "$3" ] || { fail "a folder that changed during a run: not $3"; cat out; }
    grep -q "$2" out || { fail "no '$2' in:"; cat out; }
    [ "$(query "SELECT count(*) FROM evaluations WHERE L_valid BETWEEN 438 AND 440")" = 0 ] ||
        fail "a number was recorded after the folder had changed"
}
rewrite() { touch c/elsewhere/model.safetensors; }
remove() { mv c/elsewhere c/gone; }
cut() { truncate -s 5000 c/elsewhere/model.safetensors; }
slow rewrite "c/elsewhere/model.safetensors: changed during the evaluation" 65
slow remove "c/elsewhere/.*it was there when the evaluation started" 66
mv c/gone c/elsewhere
slow cut "c/elsewhere/model.safetensors" 65
cp kept/model.safetensors c/elsewhere/model.safetensors

# Stopped evaluations promise no checkpoint.
"$alibi" run slow/ --devices cpu:1 --tries 1 >out 2>&1 &
wait_for 300 started || fail "the evaluation did not start"
kill -TERM $!
wait $!
[ $? -eq 130 ] || { fail "stopped evaluations did not end with 130"; cat out; }
grep -q "stopping: 1 worker will end after the current batch, without a result (Ctrl-C again kills it)" out || { fail "no announcement of the stop"; cat out; }

# A killed worker: what it had recorded stays, the rest is evaluated by the same command, with the same bits.
"$alibi" run slow/ --devices cpu:1 --tries 1 >out 2>&1 &
wait_for 300 started || fail "the evaluation did not start"
kill -9 "$(query "SELECT DISTINCT pid FROM progress")"
wait $!
[ "$(query "SELECT count(*) FROM evaluations e JOIN artefact_points p USING (run_id) WHERE p.artefact = 'slow'")" -lt 5 ] || fail "the worker was killed too late"
expect 0 "done now" "$alibi" run slow/ --devices cpu:1
[ "$(query "SELECT count(*) FROM evaluations e JOIN artefact_points p USING (run_id) WHERE p.artefact = 'slow'")" = 5 ] || fail "not all were evaluated"
resumed=$(query "SELECT L_valid, loss_nats FROM evaluations e JOIN artefact_points p USING (run_id) WHERE p.artefact = 'slow' ORDER BY 1")
expect 0 "1 done now" "$alibi" run slow/ --devices cpu:1 --redo --only L_valid=440
[ "$(query "SELECT L_valid, loss_nats FROM evaluations e JOIN artefact_points p USING (run_id) WHERE p.artefact = 'slow' ORDER BY 1")" = "$resumed" ] || fail "an interrupted evaluation has other bits"

# Losses of a stopped export: no file.
run=$(query "SELECT run_id FROM evaluations WHERE L_valid = 440")
"$alibi" export "$run" --losses stopped.tsv >out 2>&1 &
begun() { ls stopped.tsv.tmp-*; }
wait_for 300 begun || fail "the export of losses did not start"
kill -TERM $!
wait $!
rc=$?
[ $rc -eq 130 ] || { fail "a stopped export of losses exited $rc, not 130"; cat out; }
[ -z "$(ls | grep stopped.tsv; find runs -name '.verify-*')" ] || fail "a stopped export left $(ls | grep stopped.tsv; find runs -name '.verify-*')"

# The artefact, with these models in the place of published ones.
expect 66 "nothing to run" "$alibi" run open_models --devices cpu:1
mkdir o && cp "$source"/experiments/open_models/* o/
sed -i -e 's/bloom-560m/bloom/g; s/pythia-160m/neox/g; s/llama-3.2-1b/llama/g; s/wikitext2-/w-/g; s/^artefact: .*/artefact: o/' o/grid.yaml
expect 0 "left out data/models/gpt2.yaml: download openai-community/gpt2" "$alibi" run o/ --devices cpu:2
"$alibi" report o/ >out 2>&1
case $? in 0 | 69) ;; *) fail "report o/ failed"; cat out ;; esac
for word in "^bloom  ALiBi *2048  7.9288" "^llama  Rotary *32 " "O1: supported" "O3: not run"; do
    grep -q "$word" out || { fail "no '$word' in the table of open_models"; cat out; }
done

# The parts of explore that ask the same models: a table for each, a token, a word and a byte.
for part in effective_context/open_context protocols/open_protocols; do
    name=${part#*/}
    mkdir $name && cp "$source"/experiments/explore/$part/* $name/
    sed -i -e 's/bloom-560m/bloom/g; s/pythia-410m/llama/g; s/wikitext2-/w-/g; s/stride: .256, 512./stride: [4, 8]/' $name/grid.yaml
    "$alibi" run $name/ --devices cpu:2 >out 2>&1 || { fail "run $name/"; cat out; }
    "$alibi" report $name/ >$name.out 2>&1
    case $? in 0 | 69) ;; *) fail "report $name/ failed"; cat $name.out ;; esac
done
expect 0 "^Rotary: llama  *846.26 .* –$" cat open_context.out
[ "$(grep '^model = llama' open_protocols.out | tr '\n' '|')" = "model = llama, number = perplexity|model = llama, number = perplexity a word|model = llama, number = perplexity a byte|" ] ||
    { fail "tables of open_protocols"; cat open_protocols.out; }
a=$(query "SELECT round(byte_perplexity, 2) FROM evaluations WHERE model = 'llama' AND protocol = 'rolling' AND L_valid = 8")
[ "$(sed -n '/llama, number = perplexity a byte/,/^model/s/^rolling  *8  *//p' open_protocols.out)" = "$a" ] || fail "perplexity a byte is not $a"
finish
