#!/bin/sh
# test_variants.sh - a grid changed by --set is separate from the artefact: the artefact's answers, nominal lengths and
# figures are unchanged byte for byte, and the variant has its own.
# usage: tests/cli/test_variants.sh BUILD
. tests/cli/expect.sh

tiny_project
tiny_grid g <<'Y'
artefact: g
title: "Learning rates and heads"
grid:
  - { position: [alibi, sinusoidal], L_train: 16, train.lr: [0.25, 0.5] }
evaluate:
  - { split: valid, window: nonoverlapping, L_valid: [16, 32], targets: 128 }
Y
answers() { # NAME: all that the artefact answers
    for format in text markdown csv json; do "$alibi" report g/ --format $format; done >"$dir/$1" 2>&1
    for view in artefact_evaluations wanted_evaluations comparison; do
        "$alibi" query "SELECT * FROM $view WHERE artefact = 'g'" --format csv
    done >>"$dir/$1"
    "$alibi" query "SELECT run_id, perplexity, L_train_nominal, L_valid_nominal, settings, finished_at FROM evaluations
        WHERE modified = 0 ORDER BY run_id" --format csv >>"$dir/$1"
    cat plots/g-none.svg >>"$dir/$1" 2>/dev/null
}
expect 0 "12 done now" "$alibi" run g/ --devices cpu:2
answers before
expect 0 "12 done now" "$alibi" run g/ --devices cpu:2 --set train.updates=4 --set seed=3
expect 0 "6 done now, 0 before" "$alibi" run g/ --devices cpu:2 --set train.lr=0.25 --set seed=3 --set train.updates=4 --set train.warmup=2
answers after
cmp "$dir/before" "$dir/after" || { fail "a variant changed what the artefact answers"; diff "$dir/before" "$dir/after" | head; }

expect 0 "^Learning rates and heads. Scale none$" "$alibi" report g/ --no-figure

# The same settings in any order select the variant.
expect 0 "modified: --set train.seed=3 --set train.updates=4" "$alibi" report g/ --set seed=3 --set train.updates=4
"$alibi" report g/ --set train.updates=4 --set train.seed=3 >"$dir/again" 2>&1
cmp "$dir/out" "$dir/again" || fail "the order of --set matters"
expect 0 "^3$" "$alibi" query "SELECT count(DISTINCT artefact) FROM artefact_points" --format csv
mkdir h && sed 's/artefact: g/artefact: h/; s/updates: 6/updates: 5/' g/grid.yaml >h/grid.yaml
expect 0 "12 done now" "$alibi" run h/ --devices cpu:2 --set model.ffn=32
expect 0 "note: h has results only of a changed grid: alibi report h --set model.ffn=32 --scale none" "$alibi" report h/
expect 0 "^Scale none: models of 0.01M parameters on tiny" "$alibi" report h/ --set model.ffn=32 --no-figure
mkdir -p configs/data && { cat data/tiny.yaml && printf 'source: { title: Some Text }\n'; } >configs/data/tiny.yaml
expect 0 "^Scale none: models of 0.01M parameters on Some Text" "$alibi" report h/ --set model.ffn=32 --no-figure

# A grid whose runs other grids have made is reported without a run of its own, also beside a scheduler, and leaves results.db
# as it is.
mkdir known && sed 's/artefact: g/artefact: known/; s/train.lr: \[0.25, 0.5\]/train.lr: 0.25/' g/grid.yaml >known/grid.yaml
cp results.db "$dir/before.db"
expect 0 "^Sinusoidal  *16" "$alibi" report known/ --no-figure
expect 0 "^Sinusoidal  *16" flock results.db.lock "$alibi" report known/ --no-figure
grep -q "warning\|missing" "$dir/out" && { fail "a report beside a scheduler"; cat "$dir/out"; }
"$alibi" report known/ --format html --out page.html 2>/dev/null
expect 0 "lead.>6 runs at scale none: models of 0.02M parameters on Some Text" grep -o "<p class=.lead.*" page.html
cmp results.db "$dir/before.db" || fail "a report changed results.db"

# A page of own grids has their titles and no claims. A grid without results is folded, wherever it is named.
mkdir none && sed 's/artefact: g/artefact: none/; s/heads"/none?"/; s/updates: 6/updates: 7/' g/grid.yaml >none/grid.yaml
expect 0 "The command that makes them: alibi run ./none/ --scale none" "$alibi" report none/
expect 0 "^Learning rates and none? Scale none" "$alibi" report none/
"$alibi" report none/ g/ --format html --out page.html 2>/dev/null
expect 0 "<h1>Learning rates and none?; Learning rates and heads</h1>" grep -o "<h1>.*</h1>" page.html
[ "$(grep -oE 'id="(a-g|a-none|empty)"' page.html | tr -d '\n')" = 'id="a-g"id="empty"id="a-none"' ] || fail "the grid with results is not first, or the other not folded"
expect 1 "" grep -q "claims supported" page.html

# Settings are data.
expect 0 "^4$" "$alibi" query "SELECT count(*) FROM settings JOIN trainings USING (run_id) WHERE key = 'train.lr' AND value = '0.5' AND modified" --format csv
expect 0 "^28$" "$alibi" query "SELECT count(*) FROM settings s JOIN evaluations e USING (run_id) WHERE key = 'train.lr'" --format csv
expect 0 "^0$" "$alibi" query "SELECT count(*) - count(DISTINCT run_id || key) FROM settings" --format csv
expect 0 "^train.lr=0.25,6" "$alibi" query "SELECT settings, count(*) FROM grid_settings WHERE artefact = 'g' GROUP BY 1" --format csv
expect 0 "evaluations  settings       state$" "$alibi" plan g/
grep -q "  train.lr=0.25  done$" "$dir/out" || { fail "settings and state of plan"; cat "$dir/out"; }
expect 0 "evaluations  state$" "$alibi" plan g/ --set train.lr=0.25
expect 0 "^g  *12 of  *12  scale none$" "$alibi" list
grep -q "^h " "$dir/out" && { fail "a variant in the list"; cat "$dir/out"; }
expect 0 "^g  *12 of  *12  scale none$" "$alibi" --project "$dir/project" list --scale none
expect 0 "^table15 " "$alibi" list --scale mini
grep -q "^g " "$dir/out" && { fail "a grid of another scale in the list"; cat "$dir/out"; }
mkdir -p "$dir/empty/runs/0123456789abcdef/1"
echo none | tee "$dir/empty/runs/0123456789abcdef/1/spec" >"$dir/empty/runs/0123456789abcdef/1/events"
expect 66 "run .alibi merge runs/. first" "$alibi" status --project "$dir/empty"
expect 65 "1 run folder left out" "$alibi" merge "$dir/empty/runs" --project "$dir/empty"
expect 0 "^no runs yet; " "$alibi" status --project "$dir/empty"
expect 0 "train.lr=0.25|0.5" "$alibi" compare train.lr=0.25,modified=0 train.lr=5e-1,modified=0 --format csv
[ "$(grep -c '^none,' "$dir/out")" -eq 4 ] || { fail "compare pairs other settings than those named"; cat "$dir/out"; }
# A setting makes a run modified: settings are compared whether one, both or none of the runs are.
expect 0 "^none,.*train.lr=0.5|0.25 train.updates=6|4" "$alibi" compare train.lr=0.5,train.updates=6 train.lr=0.25,train.updates=4,seed=3,position=alibi --format csv
expect 0 "not compared: B has model.ffn 32, this one 64" "$alibi" compare position=alibi,modified=0 position=sinusoidal,modified=1
expect 0 "highest learning rate" "$alibi" settings train.lr
expect 0 "^model.position" "$alibi" settings position
expect 64 "did you mean 'train.lr'" "$alibi" settings train.lrr

# An edited grid: runs that it no longer needs keep the paper's lengths.
cp -r g edited && sed -i 's/artefact: g/artefact: edited/; s/scale: none/scale: half/; s/L_train: 16/L_train: [16, 32]/' edited/grid.yaml
mkdir -p configs/scale && printf 'divide: 2\n' >configs/scale/half.yaml
expect 0 "24 done now" "$alibi" run edited/ --devices cpu:2
sed -i 's/L_train: \[16, 32\]/L_train: 32/' edited/grid.yaml
expect 0 "0 done now, 12 before" "$alibi" run edited/ --devices cpu:2
expect 0 "^16,8,4$" "$alibi" query "SELECT L_train_nominal, L_train, count(*) FROM evaluations WHERE scale = 'half' AND L_train = 8 AND L_valid_nominal = 16 GROUP BY 1" --format csv

mkdir -p experiments && cp -r g experiments/own && sed -i 's/artefact: g/artefact: own/' experiments/own/grid.yaml
expect 0 "^own *12 of *12 *- *Learning rates and heads" "$alibi" list

# Seeds that were run stay in the report when the grid is run with fewer, until --seeds leaves them out.
mkdir seeds && sed 's/artefact: g/artefact: seeds/; s/alibi, sinusoidal/alibi/; s/train.lr: \[0.25, 0.5\]/train.lr: 0.25/' g/grid.yaml >seeds/grid.yaml
expect 0 "9 done now" "$alibi" run seeds/ --seeds 3 --devices cpu:2 --redo
"$alibi" report seeds/ --no-figure >"$dir/three"
expect 0 "0 done now, 3 before" "$alibi" run seeds/ --devices cpu:2
expect 0 "seeds 1, 2, 3" "$alibi" report seeds/ --no-figure
cmp "$dir/three" "$dir/out" || { fail "a run with fewer seeds changed the report"; diff "$dir/three" "$dir/out"; }
expect 0 "^Seed 3 was run too and is not shown (--seeds 2)" "$alibi" report seeds/ --no-figure --seeds 2
grep -q "seeds 1, 2 (mean" "$dir/out" || { fail "report --seeds 2"; cat "$dir/out"; }
expect 0 "seed 1$" "$alibi" report seeds/ --no-figure --seeds 1
expect 0 "seeds 1, 2, 3" "$alibi" report seeds/ --no-figure --seeds 3
grep -q "not shown" "$dir/out" && fail "a note about seeds that are shown"
# An artefact that nobody ran is shown from these results, with the same seeds.
mkdir shared && sed 's/artefact: seeds/artefact: shared/' seeds/grid.yaml >shared/grid.yaml
expect 0 "seed 1$" "$alibi" report shared/ --no-figure
expect 0 "seeds 1, 2, 3" "$alibi" report shared/ --no-figure --seeds 3

# Evaluations of one worker, which share a folder and its progress, are one row of status.
if command -v python3 >/dev/null 2>&1; then
    mkdir "$dir/busy" && cp results.db "$dir/busy/"
    python3 -c 'import sqlite3, sys
c = sqlite3.connect(sys.argv[1])
c.execute("DROP TRIGGER an_attempt_ends_once")
c.execute("""UPDATE run_attempts SET state = "running", ended_at = NULL, dir = "runs/shared/1" WHERE attempt_id IN (
    SELECT max(attempt_id) FROM run_attempts JOIN runs USING (run_id) WHERE kind = "eval" GROUP BY run_id LIMIT 3)""".replace(chr(34), chr(39)))
c.commit()' "$dir/busy/results.db" || fail "the tables have other columns"
    expect 0 "^[0-9a-f]\{16\}  *3  " "$alibi" status --project "$dir/busy"
    [ "$(wc -L <"$dir/out")" -le 160 ] || { fail "a row of status wraps"; cat "$dir/out"; }
    [ "$(grep -c "^[0-9a-f]\{16\} .* eval " "$dir/out")" -eq 1 ] || { fail "status repeats a worker"; cat "$dir/out"; }
fi

# The time left of a resumed training is that of the updates of this attempt: 1,000 more, of which 100 took ten seconds.
if command -v python3 >/dev/null 2>&1; then
    python3 -c 'import sqlite3, sys
c = sqlite3.connect(sys.argv[1])
c.execute("DROP TRIGGER IF EXISTS an_attempt_ends_once")
t, = c.execute("SELECT max(attempt_id) FROM run_attempts JOIN runs USING (run_id) WHERE kind = ?", ("train",)).fetchone()
c.execute("DELETE FROM curve_points WHERE attempt_id = ?", (t,))
c.execute("INSERT INTO curve_points(attempt_id, split, step, loss_nats) VALUES (?, ?, 901, 3.0)", (t, "train"))
c.execute("UPDATE run_attempts SET state = ?, ended_at = NULL, started_at = ? WHERE attempt_id = ?", ("running", "2026-01-01T00:00:00Z", t))
c.execute("INSERT OR REPLACE INTO progress_now(attempt_id, sequence, updated_at, done, total) VALUES (?, 9, ?, 1000, 2000)",
    (t, "2026-01-01T00:00:10Z"))
c.commit()' "$dir/busy/results.db" || fail "the tables have other columns"
    expect 0 "train .* 1000 of 2000  *50  *100 " "$alibi" status --project "$dir/busy"
fi

# A training is watched.
run=$("$alibi" query "SELECT run_id FROM trainings WHERE modified = 0 LIMIT 1" --format csv | tail -n 1 | tr -d '\r')
expect 0 "^update 6 of 6  loss [0-9.]* nats  rate " "$alibi" logs "$run" --follow
grep -q "^ended: done" "$dir/out" || { fail "logs does not say how it ended"; cat "$dir/out"; }
if command -v gnuplot >/dev/null 2>&1; then
    expect 0 "^plots/curves-.*svg" "$alibi" curves "$run"
    grep -q "training" plots/curves-*.svg || fail "the curves have no title"
    # The settings of a sweep label its curves; --out names the picture.
    sweep=$("$alibi" query "SELECT run_id FROM artefact_points p JOIN trainings t USING (run_id)
        WHERE p.artefact = 'g' AND t.position = 'alibi'" --format csv | tail -n +2 | tr -d '\r')
    # shellcheck disable=SC2086 # a list of ids
    expect 0 "sweep.svg" "$alibi" curves $sweep --out "$dir/sweep.svg"
    [ "$(grep -c ">ALiBi lr=0.[25]" "$dir/sweep.svg")" -eq 2 ] || fail "a run of the picture has no entry of its own"
    # A folder that cannot be written is not the only one for figures.
    mv plots plots.kept && touch plots
    expect 73 "--figures DIR draws it elsewhere" "$alibi" report g/
    rm plots && mv plots.kept plots
    expect 0 "sweep.pdf" "$alibi" curves "$run" --out "$dir/sweep.pdf"
    expect 64 "ends in .svg, .png or .pdf" "$alibi" curves "$run" --out "$dir/sweep.jpg"

    # Any setting is an axis, without a file.
    expect 0 "^configuration *L_train *L_valid *0.25 *0.5$" "$alibi" report g/ --x train.lr
    grep -q "^X_LABEL = 'lr'" plots/g-none-by-train.lr.gp || fail "the axis is not labelled by its setting"
    grep -q "^CURVE_TITLE\[1\] = 'ALiBi L_{valid}=16'" plots/g-none-by-train.lr.gp || fail "the curves are not those of the lengths"
    expect 0 "The figure was not drawn: no train.optimizer is a number" "$alibi" report g/ --x train.optimizer
    expect 64 "neither a setting nor a column.*did you mean 'train.lr'" "$alibi" report g/ --x train.lrr
    printf 'title: By rate\nrows: configuration, L_valid\ncolumns: train.lr\nvalue: perplexity\npanel: L_valid\nseries: configuration\nstyle: position\nx: train.lr\ny: perplexity\nxscale: log10\nuse: default/plot.gp\n' >g/table.txt
    expect 0 "^configuration *L_valid *0.25 *0.5$" "$alibi" report g/
    grep -q "^X_BASE = 10" plots/g-none.gp || fail "xscale: of table.txt is not read"
    rm g/table.txt
    expect 0 "plots/g-none-3.307in.svg" "$alibi" report g/ --width 84mm
    expect 64 "expected 2 to 20 inches" "$alibi" report g/ --width 3
    # Figures go elsewhere, and the tables alone are nothing else.
    "$alibi" report g/ --no-figure --table-only >"$dir/table" 2>&1
    expect 0 "" "$alibi" report g/ --table-only --figures "$dir/figures"
    cmp "$dir/table" "$dir/out" || { fail "--table-only prints more than the tables"; cat "$dir/out"; }
    [ -s "$dir/figures/g-none.svg" ] || fail "--figures did not draw into its folder"
    # A script draws again from anywhere, and gnuplot has nothing to say; in a locale without UTF-8, where it warns about a
    # character that the figure lacks, it draws the same.
    said=$(LC_ALL=C.UTF-8 gnuplot plots/g-none.gp 2>&1)
    [ -z "$said" ] || fail "gnuplot warns: $said"
    LC_ALL=C gnuplot -e "FORMAT = 'svg'; OUTPUT = '$dir/again.svg'" plots/g-none.gp 2>/dev/null
    cmp "$dir/again.svg" plots/g-none.svg || fail "a figure depends on the locale"
fi
evaluation=$("$alibi" query "SELECT run_id FROM evaluations LIMIT 1" --format csv | tail -n 1 | tr -d '\r')
expect 0 "^evaluated $evaluation: perplexity" "$alibi" logs "$evaluation"
finish
