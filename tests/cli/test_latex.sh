#!/bin/sh
# test_latex.sh - tables for a paper: the numbers share a head, what all rows share is in the caption, columns can be left out, bold
# is what is better beyond its error, `compare` writes a table, and LaTeX compiles all of them.
# usage: tests/cli/test_latex.sh BUILD
. tests/cli/expect.sh

tiny_project
tiny_grid g "shard_tokens: 256, updates: 40, lr: 0.05, warmup: 4, period: 36" <<'Y'
title: "Made & tested | 100 %"
grid:
  - { position: [alibi, none], L_train: 16, seed: [1, 2] }
evaluate:
  - { split: valid, L_valid: [16, 32] }
Y
mkdir w && sed 's/\[alibi, none\]/alibi, model.alibi_bias_max: [4, 8]/; s/, seed: .*\]/, seed: 1/
s/32\] }/32], eval.attention_window: [0, 8], eval.position_scaling: [none, slopes] }/' g/grid.yaml >w/grid.yaml
mkdir h && sed 's/\[alibi, none\]/alibi, train.updates: [8, 40]/; s/, updates: 40//; s/warmup: 4/warmup: 0/' g/grid.yaml >h/grid.yaml
expect 0 "12 done now" "$alibi" run ./g/ --devices cpu:2
expect 0 "done now" "$alibi" run ./h/ --devices cpu:2
expect 0 "15 done now" "$alibi" run ./w/ --devices cpu:2

latex() { "$alibi" report ./g/ --format latex --table-only "$@"; }
latex >plain.tex || fail "no table"
grep -q '^& .multicolumn{2}{c}{$L_.mathrm{valid}$} ..$' plain.tex && grep -q 'cmidrule(lr){2-3}' plain.tex || fail "no head over L_valid"
grep -qF 'caption{Made \& tested $|$ 100 \%. Scale none ($L_\mathrm{train}$ 16; ' plain.tex || fail "L_train is not in the caption"
grep -q '^configuration & 16 & 32 ..$' plain.tex || fail "columns: $(grep '^configuration' plain.tex)"

# By another command: the best of a column is bold if the ratio differs from 1 by more than two of the errors that compare states.
check_bold() { # GRID A B: configurations of its two rows
    "$alibi" report "./$1/" --format latex --table-only >bold.tex
    for L in 16 32; do
        sentence=$("$alibi" compare "$2,L_valid=$L" "$3,L_valid=$L" | grep '^Mean')
        beyond=$(echo "$sentence" | awk '{
            worst = 0
            for (i = 2; i < NF; i++) if ($i == "over" && $(i - 2) == "error" || $i == "over" && $(i - 3) == "seeds,") if ($(i - 1) > worst) worst = $(i - 1)
            nats = log($5); nats = nats < 0 ? -nats : nats
            print (nats > 2 * worst / $5) }')
        bold=$(awk -F ' *& *' -v c=$((L / 16 + 1)) 'index($c, "textbf") { n++ } END { print n + 0 }' bold.tex)
        [ "$bold" -eq "$beyond" ] || fail "$1, L_valid $L: $bold bold, but $sentence"
        verdicts="$verdicts $bold"
    done
}
verdicts=
check_bold g position=alibi position=none
check_bold h train.updates=8,position=alibi train.updates=40,position=alibi
[ "$verdicts" = " 0 0 1 1" ] || fail "bold:$verdicts; the test needs columns with and without a best number"
latex --no-bold | grep -q textbf && fail "--no-bold"

latex --without 32 >narrow.tex || fail "--without"
grep -q '^configuration & 16 ..$' narrow.tex || fail "--without: $(grep '^configuration' narrow.tex)"
expect 0 "^configuration  *L_train  *32$" "$alibi" report ./g/ --no-figure --without 16
expect 64 "no table of g has a column of this heading" "$alibi" report ./g/ --no-figure --without words

"$alibi" compare position=alibi position=none --format latex >compare.tex || fail "compare"
grep -q '^.label{tab:compare-1}' compare.tex || fail "compare writes no float"
for x in "report ./w/ --no-figure --table-only" "report ./w/ --no-figure --table-only --x model.alibi_bias_max" \
    "compare model.alibi_bias_max=4 model.alibi_bias_max=8"; do
    # shellcheck disable=SC2086 # words of a command
    "$alibi" $x --format latex >>wide.tex || fail "$x"
done

if ! command -v pdflatex >/dev/null || ! kpsewhich booktabs.sty >/dev/null; then
    echo "skipped: no pdflatex with booktabs here compiles the tables"
    finish
    exit
fi
{
    printf '%s\n' '\documentclass{article}' '\usepackage[utf8]{inputenc}' '\usepackage{booktabs}' '\begin{document}'
    cat plain.tex narrow.tex compare.tex wide.tex
    printf '%s\n' '\end{document}'
} >all.tex
pdflatex -halt-on-error -interaction=nonstopmode all.tex >log 2>&1 || { fail "pdflatex"; tail -20 log; }
grep '^Overfull .hbox' all.log && fail "a table or a text is wider than the line"
finish
