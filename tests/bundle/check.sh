#!/bin/sh
# check.sh - tests the bundle: unpacked elsewhere, with an empty environment, it loads nothing from
# this machine, not even glibc. Its results merge into a project.
# usage: tests/bundle/check.sh BUILD
. tests/cli/expect.sh
archive=$1/alibi-bundle.tar.xz
emulated=$(cd "$1" && pwd)/libalibi_cuda_emulated.so
glibc='/(ld-linux[^/]*|libc|libm|libdl|libpthread|librt|libresolv)\.so[.0-9]*$'

bytes=$(wc -c <"$archive")
[ "$bytes" -le $((64 << 20)) ] || fail "$bytes bytes, more than 64 MiB"
mkdir "$dir/any where" "$dir/there" "$dir/home"
tar -C "$dir/any where" -xf "$archive" || exit 1
root="$dir/any where/alibi-bundle"

bare() { env -i PATH=/usr/bin:/bin LD_DEBUG=libs LD_DEBUG_OUTPUT="$dir/loaded" "$@"; }
cd "$dir/there" || exit 1
expect 0 "cpu " bare "$root/alibi" devices
bare "$root/alibi" doctor >"$dir/out" 2>&1
grep -q "^ok *BLAS" "$dir/out" || { fail "alibi doctor finds no BLAS:"; cat "$dir/out"; }
grep -q "^ok *shipped *$root$" "$dir/out" || { fail "alibi doctor does not find what is shipped:"; cat "$dir/out"; }
expect 0 "22 trainings, 50 evaluations" bare "$root/alibi" plan table5
expect 69 "no GPU to check on\|self-test" bare sh "$root/check-gpu.sh" cuda:62
expect 66 "nothing to pack" sh "$root/pack-results.sh"
expect 69 "no GPU to measure on" bare sh "$root/bench-gpu.sh" cuda:62
expect 0 "of ceiling" bare env TINY=1 SECONDS_A_CASE=0 CASES=ceilings PYTHON=false sh "$root/bench-gpu.sh" cpu

# The legs run here on the emulated GPU, if this build has it; what they write is packed.
if [ -e "$emulated" ]; then
    cp "$emulated" "$root/lib/"
    expect 0 "3 passed, 0 failed" bare env LEGS="graph-capture oracle-what scores-in" sh "$root/check-gpu.sh" cuda:emulated
    rm "$root/lib/libalibi_cuda_emulated.so"
    expect 0 "results.tgz: .*build/check-gpu" sh "$root/pack-results.sh"
    [ "$(tar -xOzf "$root/results.tgz" build/check-gpu/check-gpu.jsonl | grep -c '"result":"ok"')" = 3 ] || fail "no three lines of legs were packed"
    tar -tzf "$root/results.tgz" | grep -q 'leg-graph-capture.log$' || fail "no log was packed"
fi
# On a machine with a GPU the cuBLASLt and the NCCL of Python's packages are found; here /dev/null is the GPU.
mkdir -p "$dir/packages/nvidia/cu13/lib" "$dir/packages/nvidia/nccl/lib"
touch "$dir/packages/nvidia/cu13/lib/libcublasLt.so.13" "$dir/packages/nvidia/nccl/lib/libnccl.so.2"
sed 's,/dev/nvidiactl,/dev/null,; s,/usr/local/cuda,/nowhere,g; s,/usr/lib/x86,/nowhere,; s,^exec .*,env; exit,' "$root/launch" >"$dir/launch"
finds() { expect 0 "$1" env -i PATH=/usr/bin:/bin PYTHONPATH="$dir/packages" sh "$dir/launch"; }
finds "^ALIBI_CUBLAS=$dir/packages/nvidia/cu13/lib$"
finds "^ALIBI_NCCL=$dir/packages/nvidia/nccl/lib/libnccl.so.2$"
ALIBI_NCCL=0 expect 0 "^ALIBI_NCCL=0$" sh "$dir/launch"
# cuBLASLt is searched for once: programs that this one starts know the answer, also if there is none.
bare env ALIBI_CUBLAS= sh -x "$root/alibi" --version 2>&1 | grep -q '^+.*libcublasLt' && fail "searches for cuBLASLt again"
bare sh -x "$root/alibi" --version 2>&1 | grep -q '^+.*libcublasLt' || fail "does not search for cuBLASLt"

# Uses no library of this machine, not even glibc or the loader.
LD_DEBUG=libs LD_DEBUG_OUTPUT="$dir/own" ALIBI_PROGRAM="$root/bin/alibi" "$root/lib/ld-linux-x86-64.so.2" --library-path "$root/lib" \
    "$root/libexec/alibi" doctor >/dev/null 2>&1
own=$(sed -n 's/.*calling init: //p' "$dir"/own.* | grep -v "^$root/" | sort -u)
[ -z "$own" ] || fail "loaded from this machine: $own"

# Runs a grid in the bundle and merges its results here.
mkdir grid
cp "$source/tests/bundle/grid.yaml" grid/
expect 0 "" bare "$root/alibi" run ./grid --devices cpu:1 --set train.updates=4 --set train.warmup=1 --set train.period=3 --set eval.targets=512
all="SELECT run_id, perplexity, tokens FROM evaluations ORDER BY run_id"
cd "$dir/home" || exit 1
expect 0 "" "$alibi" merge "$dir/there"
[ "$("$alibi" query --format csv "$all" | wc -l)" = 3 ] || fail "not two evaluations were merged"
[ "$("$alibi" query --format csv "$all")" = "$(cd ../there && "$alibi" query --format csv "$all")" ] || fail "merged evaluations differ"

outside=$(grep -h 'calling init: ' "$dir"/loaded.* | sed 's/.*calling init: //' | grep -v "^$root/" | grep -vE "$glibc" | sort -u)
# Programs of this machine, called by the scripts, load their own libraries.
for library in $outside; do
    users=$(grep -l "calling init: $library$" "$dir"/loaded.* | xargs grep -l "$root/libexec")
    [ -z "$users" ] || fail "loaded from this machine: $library"
done
# cuBLASLt of either CUDA is loaded by name when a GPU is opened.
readelf -d "$root"/lib/libalibi_cuda.so 2>/dev/null | grep "NEEDED.*cublas" && fail "libalibi_cuda.so is linked with one cuBLASLt"
grep -qh "calling init: $root/lib/" "$dir"/loaded.* || fail "the loader's report is empty"

finish
