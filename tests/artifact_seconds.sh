#!/bin/sh
# artifact_seconds.sh - writes the core seconds of scale mini from results.db into the table of experiments/ARTIFACT.md, with
# the SELECT in that file. For a results.db that one undisturbed `make reproduce` filled.
# usage: tests/artifact_seconds.sh BUILD [PROJECT]
set -eu

alibi=$(cd "$1" && pwd)/alibi
project=${2:-.}
document=experiments/ARTIFACT.md
statement=$(awk '/^```sql$/ { on = 1; next } /^```$/ { on = 0 } on' "$document")
rows=$("$alibi" query "$statement" --format csv --project "$project" | tr -d '\r' | tail -n +2)
machine=$("$alibi" query "SELECT device FROM trainings WHERE scale = 'mini' LIMIT 1" --format csv --project "$project" | tr -d '\r"' | tail -n +2)

echo "$rows" | awk -F, -v machine="$machine" '
NR == FNR { seconds[$1] = $3; next }
/^\| `make reproduce-/ {
    name = $0; sub(/^\| `make reproduce-/, "", name); sub(/`.*/, "", name)
    if (name in seconds) { n = split($0, part, " \\| "); part[3] = sprintf("%.0f", seconds[name])
        $0 = part[1]; for (i = 2; i <= n; i++) $0 = $0 " | " part[i] }
}
/^Core seconds: / { $0 = "Core seconds: measured in one run of everything on " machine "; a step of a benchmark is repeated." }
{ print }' - "$document" >"$document.new"
mv "$document.new" "$document"
