#!/bin/sh
# documents.sh - writes the tables of documents from the published results. A region is a comment that holds a command of alibi,
# on one or more lines, what the command prints, and a comment `end`:
#   <!-- alibi: report table5 --db experiments/published/mini.db --table-only --no-figure --format markdown -->
#   <!-- end -->
# A file X.tsv beside X.sql is the answer of this query at scale mini.
# A command that prints nothing, or a missing result, is an error. usage: tests/documents.sh BUILD [--check] [FILE…]
#   --check: change nothing; exit 1 and show the difference if a document is not what its commands print
set -eu

PATH=$(cd "$1" && pwd):$PATH
export PATH
shift
check=
[ "${1:-}" != --check ] || { check=1; shift; }
[ $# -gt 0 ] || set -- $(find experiments -name '*.tsv') $(find README.md configs cuda experiments src tests -name '*.md' | sort)
new=$(mktemp)
trap 'rm -f "$new" "$new.1"' EXIT

# What the command prints, as a part of a Markdown document: text is fenced. The exit status 70 says that a claim is contradicted.
print() { # COMMAND
    status=0
    eval "alibi $1" >"$new.1" || status=$?
    [ $status -eq 0 ] || [ $status -eq 70 ] || return $status
    [ -s "$new.1" ] || { echo "alibi $1: prints nothing" >&2; return 1; }
    ! grep -q '| – |' "$new.1" || { echo "alibi $1: some results are missing" >&2; return 1; }
    case $1 in
    *markdown*) awk 'NF { if (seen && blank) print ""; print; seen = 1 } { blank = !NF }' "$new.1" ;;
    *) echo '```' && cat "$new.1" && echo '```' ;;
    esac
}

write() { # FILE
    command= state=text
    while IFS= read -r line || [ -n "$line" ]; do
        case $state:$line in
        text:'<!-- alibi: '*) state=command command="${line#<!-- alibi: }" ;;
        command:*) command="$command
$line" ;;
        region:'<!-- end -->') state=text ;;
        region:*) continue ;;
        esac
        printf '%s\n' "$line"
        case $state:$line in
        command:*'-->') state=region && print "${command%-->}" || { echo "$1: $command" >&2; return 1; } ;;
        esac
    done <"$1"
    [ $state = text ] || { echo "$1: a region has no <!-- end -->" >&2; return 1; }
}

answer() { # X.sql
    alibi query "$(cat "$1")" --db experiments/published/mini.db --format csv >"$new.1" || return
    tr -d '\r' <"$new.1" | tr , '\t'
}

differ=0
for file; do
    case $file in
    *.tsv) [ -e "${file%tsv}sql" ] || continue
        answer "${file%tsv}sql" >"$new" ;;
    *) grep -q '^<!-- alibi: ' "$file" || continue
        write "$file" >"$new" ;;
    esac
    cmp -s "$new" "$file" && continue
    if [ -z "$check" ]; then
        cat "$new" >"$file"
        echo "wrote $file"
    else
        diff -u "$file" "$new" || differ=1
    fi
done
[ $differ -eq 0 ] || echo "these documents are not what the published results say; run \`make documents\` and review the change"
exit $differ
