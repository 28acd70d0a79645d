#!/bin/sh
# pack_results.sh - packs what was measured, checked and trained in this folder as results.tgz.
cd "$(dirname "$0")" || exit 1
set --
for file in build/bench/gpu.jsonl build/check-gpu results.db runs; do [ ! -e "$file" ] || set -- "$@" "$file"; done
[ $# -gt 0 ] || { echo "pack-results: nothing to pack: run check-gpu.sh or bench-gpu.sh first" >&2; exit 66; }
tar -czf results.tgz "$@" && echo "$PWD/results.tgz: $*"
