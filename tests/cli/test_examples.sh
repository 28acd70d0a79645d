#!/bin/sh
# test_examples.sh - the Python and R examples of experiments/README.md run. Reported as skipped with neither pandas nor RSQLite.
# usage: tests/cli/test_examples.sh BUILD
. tests/cli/expect.sh
checks=$(cd "$1" && pwd)/tests/report
readme=$PWD/experiments/README.md
tried=

expect 0 "" "$checks/fake_results" "$dir"
cd "$dir" || exit 1

example() { # LANGUAGE PATTERN COMMAND...: runs the language's example, whose output must match
    tried="$tried $1"
    # The results are planted at scale paper.
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$readme" | sed -e '/^```/d' -e "s/'mini'/'paper'/" >"$dir/example.$1"
    pattern=$2
    shift 2
    expect 0 "$pattern" "$@"
    expect 0 "sinusoidal" "$@"
}

for python in python3 /usr/bin/python3; do
    "$python" -c "import pandas" 2>/dev/null || continue
    example python "512  *NaN  *NaN  *NaN  *19.73  *18.81" "$python" example.python
    break
done
if Rscript --vanilla -e "library(RSQLite)" 2>/dev/null; then
    example r "512  *NA  *NA  *NA  *19.73  *18.81" Rscript --vanilla example.r
fi
if [ -z "$tried" ]; then
    echo "neither python3-pandas nor r-cran-rsqlite is installed: the examples were not run"
    exit 77
fi
finish
