#!/bin/sh
# test_import.sh - PyTorch checkpoints, from the file to the perplexity and back to PyTorch.
# usage: tests/cli/test_import.sh BUILD        TORCH_PYTHON=/path/python: one that can import torch, looked at first
. tests/cli/expect.sh
fixtures=$PWD/tests/fixtures/checkpoints
loader=$PWD/tests/interchange/load_export.py

# same NAME A B: two numbers that differ by less than 1e-4
same() {
    awk -v a="$2" -v b="$3" 'BEGIN { d = a - b; exit !(a > 1 && b > 1 && d < 1e-4 && d > -1e-4) }' || fail "$1: $2 is not $3"
}

# pytorch MODEL LENGTH: the result of PyTorch when the fixtures were made
pytorch() {
    sed -n "/\"$1\"/,/}/s/.*\"valid_L$2\": \([0-9.]*\).*/\1/p" "$fixtures/tiny.json"
}

perplexity() { # L_valid
    "$alibi" query "SELECT perplexity FROM evaluations WHERE L_valid = $1 AND origin = 'imported'" --format csv | tail -n 1
}

cd "$dir" || exit 1
tiny_grid grid "shard_tokens: 512, updates: 150, lr: 0.005, warmup: 10, period: 140" "$tiny_pt" <<'Y'
artefact: grid
title: "An imported model"
grid:
  - { position: [alibi, sinusoidal], L_train: [32] }
evaluate:
  - { split: valid, window: nonoverlapping, L_valid: { from: L_train, add: [0, 32, 96] } }
Y
cp "$fixtures/tiny.pt" alibi_tiny_L32.pt
expect 0 "208 words" "$alibi" data prepare tiny --text "$fixtures/text"
cmp data/tiny/dict.txt "$fixtures/dict.txt" || fail "the dictionary is not the checkpoint's"

# The name states the method, the file the length; afterwards only evaluations remain.
expect 0 "22,656 parameters" "$alibi" import alibi_tiny_L32.pt --dict "$fixtures/dict.txt" --for ./grid/
expect 0 "1 done" "$alibi" plan ./grid/ --only position=alibi
expect 0 "3 done now, 1 before" "$alibi" run ./grid/ --only position=alibi
for L in 32 64 128; do same "fp32 at $L" "$(perplexity $L)" "$(pytorch tiny $L)"; done
expect 0 "^3$" "$alibi" query "SELECT count(*) FROM evaluations WHERE origin = 'imported'" --format csv
expect 0 "0 wrong" "$alibi" verify

# Back to PyTorch.
run=$("$alibi" query "SELECT run_id FROM trainings" --format csv | tail -n 1)
expect 0 "model.safetensors, config.json, dict.txt" "$alibi" export "$run" --out "$dir/exported"
expect 0 '"heads": 4' cat exported/config.json
# Slopes and update are numbers, as a loader needs them.
if command -v python3 >/dev/null; then
    expect 0 "0.25 0.0625 0.015625 0.00390625 True 0" python3 -c "
import json
c = json.load(open('exported/config.json'))
print(*c['alibi_slopes'], c['update'] is None or type(c['update']) is int, c['attention_window'])"
    expect 2 "^usage: load_export.py .*folder tokens length" python3 "$loader" exported
    expect 2 "nowhere not found" python3 "$loader" exported nowhere 32
    grep -q Traceback "$dir/out" && { fail "the loader's usage error"; cat "$dir/out"; }
else
    echo "skipped: python3 is not installed, so config.json and the usage of load_export.py were not checked"
fi
expect 66 "no run matches" "$alibi" export 0123456789abcdef
if find_torch "the exported model was not loaded with it"; then
    for L in 32 64 128; do
        same "PyTorch on the export at $L" "$(PYTHONDONTWRITEBYTECODE=1 "$python" "$loader" exported data/tiny/valid.tokens $L | sed -n 's/^PyTorch //p')" "$(perplexity $L)"
    done
    echo "checked: the export, loaded with PyTorch $("$python" -c 'import torch; print(torch.__version__)'), has our perplexity to 1e-4"
fi

# An fp16 checkpoint replaces an existing result only with --force, and its evaluations are redone.
expect 64 "already done" "$alibi" import "$fixtures/tiny_half.pt" --as position=alibi --for ./grid/
expect 0 "fp16 converted" "$alibi" import "$fixtures/tiny_half.pt" --as position=alibi --for ./grid/ --force
expect 0 "3 done now" "$alibi" run ./grid/ --only position=alibi
for L in 32 64 128; do same "float16 at $L" "$(perplexity $L)" "$(pytorch tiny_half $L)"; done

# A file that cannot be written leaves neither a folder nor a row.
ls -R runs >before
expect 74 "File too large" sh -c "trap '' XFSZ; ulimit -f 128; exec \"\$0\" import \"\$1\" --as position=alibi --for ./grid/ --force" "$alibi" "$fixtures/tiny.pt"
ls -R runs | cmp before - || fail "a failed import left a folder"
expect 0 "4 done, 0 to do" "$alibi" plan ./grid/ --only position=alibi

# A run that an earlier plan registered as one to be trained becomes an imported one.
expect 0 "L_train=32" "$alibi" import "$fixtures/tiny.pt" --as position=sinusoidal --for ./grid/
expect 0 "^2$" "$alibi" query "SELECT count(*) FROM trainings WHERE origin = 'imported'" --format csv

# A training run here replaces the import and its origin.
expect 0 "" "$alibi" run ./grid/ --only position=sinusoidal --redo
expect 0 "^sinusoidal,trained$" "$alibi" query "SELECT position, origin FROM trainings WHERE origin = 'trained'" --format csv

# Errors.
transcript import.txt
[ "$(find runs -name imported.safetensors | wc -l)" -eq 3 ] || fail "a refused import left weights behind"

finish
