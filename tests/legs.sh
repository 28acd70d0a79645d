# legs.sh - sourced by scripts that run a list of legs: each leg is a command with a time limit, a log of its own,
# and a line of JSON. The script sets
#   logs    the folder of leg-NAME.log
#   jsonl   the file to which a line is appended for each leg
#   facts   members that begin each line, as facts() prints them
#   limit   seconds a leg may take: a kernel that never ends must not use up the machine
#   label   printed in front of every name, with a space at its end; may be empty
passed=0
failed=0

# json TEXT - the content of a JSON string: printable ASCII only, escaped.
json() { printf '%s' "$1" | LC_ALL=C tr -cd ' -~' | sed 's/["\\]/\\&/g'; }

facts() { # NAME TEXT…
    while [ $# -gt 1 ]; do
        printf '"%s":"%s",' "$1" "$(json "$2")"
        shift 2
    done
}

# leg NAME command... - with LEGS="smoke oracle" only legs whose name in leg-NAME.log begins so. A skip counts as failed.
leg() {
    name=$1
    file=$(printf '%s' "$name" | LC_ALL=C tr -cs 'A-Za-z0-9._' -)
    shift
    hit=${LEGS:+0}
    for prefix in ${LEGS:-}; do case $file in "$prefix"*) hit=1 ;; esac; done
    [ "$hit" != 0 ] || return 0
    log=$logs/leg-$file.log
    from=$(date +%s%N)
    timeout -k 5 "$limit" "$@" >"$log" 2>&1 </dev/null
    rc=$?
    ms=$((($(date +%s%N) - from) / 1000000))
    result=failed
    [ $rc -eq 0 ] && result=ok
    grep -q '^\[  SKIPPED \]' "$log" && result=skipped
    case $rc in 124 | 137) result="stopped after $limit s" ;; esac
    printf '{%s%s"exit":%d,"ms":%d}\n' "$facts" "$(facts date "$(date -u +%Y-%m-%dT%H:%M:%SZ)" leg "$name" result "$result")" $rc $ms >>"$jsonl"
    if [ "$result" = ok ]; then
        passed=$((passed + 1))
        printf '  ok    %6d ms  %s%s\n' $ms "$label" "$name"
    else
        failed=$((failed + 1))
        printf '  FAIL  %6d ms  %s%s (%s, exit %d)\n' $ms "$label" "$name" "$result" $rc
        grep -vE '^\[ RUN|^\[  +OK|: ok \(' "$log" | tail -n 40 | sed 's/^/        /'
        echo "        $log"
    fi
}
