#!/bin/sh
# test_pandas.sh - the Python example of experiments/README.md runs. Reported as skipped without pandas.
# usage: tests/cli/test_pandas.sh BUILD
. tests/cli/expect.sh
checks=$(cd "$1" && pwd)/tests/report

for python in python3 /usr/bin/python3; do
    "$python" -c "import pandas" 2>/dev/null && break
    python=
done
if [ -z "$python" ]; then
    echo "python3-pandas is not installed: the example was not run"
    exit 77
fi
expect 0 "" "$checks/fake_results" "$dir"
# The results are planted at scale paper.
sed -n '/^```python$/,/^```$/p' experiments/README.md | sed -e '/^```/d' -e "s/'mini'/'paper'/" >"$dir/example.py"
cd "$dir" || exit 1
expect 0 "512  *NaN  *NaN  *NaN  *19.73  *18.81" "$python" example.py
expect 0 "sinusoidal" "$python" example.py
finish
