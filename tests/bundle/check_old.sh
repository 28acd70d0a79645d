#!/bin/sh
# check_old.sh - tests the bundle in an old Debian, whose C library is older than the bundle's: doctor, a grid, its table.
# usage: tests/bundle/check_old.sh BUILD [SUITE]     as root, with debootstrap; bullseye has glibc 2.31
. tests/cli/expect.sh
archive=$1/alibi-bundle.tar.xz
suite=${2:-bullseye}
[ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null || { echo "skipped: a userland needs root and debootstrap"; exit 0; }
old=$dir/old
trap 'umount "$old/proc" 2>/dev/null; rm -rf --one-file-system "$dir"' EXIT
debootstrap --variant=minbase "$suite" "$old" >"$dir/out" 2>&1 || { fail "debootstrap $suite:"; tail -n 5 "$dir/out"; finish; exit; }
mount -t proc proc "$old/proc" || exit 1
tar -C "$old/opt" -xf "$archive" || exit 1
mkdir -p "$old/work/grid"
cp "$source/tests/bundle/grid.yaml" "$old/work/grid/"
inside() { chroot "$old" /usr/bin/env -i PATH=/usr/bin:/bin sh -c 'cd /work && exec "$@"' sh "$@"; }

inside ldd --version | head -n 1
inside /opt/alibi-bundle/alibi doctor >"$dir/out" 2>&1
grep -q "^ok *BLAS" "$dir/out" || { fail "alibi doctor finds no BLAS:"; cat "$dir/out"; }
set -- --set train.updates=4 --set train.warmup=1 --set train.period=3 --set eval.targets=512
expect 0 "" inside /opt/alibi-bundle/alibi run ./grid --devices cpu:1 "$@"
expect 69 "ALiBi  " inside /opt/alibi-bundle/alibi report ./grid "$@" # 69: prints the table, but has no gnuplot for the figure
[ "$(inside /opt/alibi-bundle/alibi query --format csv "SELECT run_id FROM evaluations" | wc -l)" = 3 ] || fail "not two evaluations"
finish
