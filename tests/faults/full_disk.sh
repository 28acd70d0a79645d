#!/bin/bash
# full_disk.sh - for run.sh, in a separate mount namespace: runs the grid on a file system that is too
# small, enlarges it and repeats the command. Prints "full" each time the disk is full, then "results"
# and the perplexities.
set -u
disk=$project/disk
run() { "$alibi" run "$grid" --devices "$devices" --project "$disk" >>"$project/out" 2>&1 </dev/null; }

mount -t tmpfs -o size=600k none "$disk" || exit 1
ln -s "$data" "$disk/data"
for size in 200k 600k 1000k; do
    mount -o "remount,size=$size" "$disk" || exit 1
    if run; then continue; fi
    rc=$?
    said=$(grep -iE 'no space left|disk is full|disk full|wants .* of disk' "$project/out" | tail -1)
    if [ -z "$said" ]; then
        echo "the run on $size ended with $rc and no word of a full disk: $(tail -1 "$project/out")"
        exit 1
    fi
    echo "full: $said"
done
mount -o remount,size=200m "$disk" || exit 1
if ! run; then
    echo "with free space it does not continue: $(tail -1 "$project/out")"
    exit 1
fi
echo results
"$alibi" query --project "$disk" --format csv "SELECT run_id, perplexity FROM evaluations ORDER BY run_id"
