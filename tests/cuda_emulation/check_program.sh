#!/bin/sh
# check_program.sh - the whole program on the emulated GPU: a tiny grid from YAML to results.db, and
# the message when a GPU is too small, runs out of memory or is lost.
# usage: tests/cuda_emulation/check_program.sh BUILD
#
# GPUs come from nvml_fake.c (libnvidia-ml.so.1 and libcuda.so.1 in a folder of LD_LIBRARY_PATH) and
# from the emulated library under the name of the real one, beside a copy of the program.
. tests/cli/expect.sh
build=$(cd "$1" && pwd)
# Two trainings with an evaluation each, on a text of a few words: the emulator is slow.
mkdir -p "$dir/grid" "$dir/bin" "$dir/driver"
ln -s "$PWD/configs" "$PWD/experiments" "$dir/"
cat >"$dir/grid/grid.yaml" <<'YAML'
artefact: tiny
title: "Two tiny models"
scale: none
base: [model/words_small.yaml, train/short.yaml, data/tiny.yaml]
set:
  model: { layers: 1, dim: 32, heads: 4, ffn: 32, cutoffs: [16, 40] }
  train: { updates: 4, warmup: 1, period: 3, shards: 2, shard_tokens: 64 }
grid:
  - { position: [alibi, t5], L_train: 16 }
evaluate:
  - { split: valid, L_valid: 32 }
YAML
text() { # words seed
    awk -v n="$1" -v seed="$2" 'BEGIN { srand(seed); for (i = 1; i <= n; i++) {
        w = rand() < 0.7 ? (5 * w + 1) % 56 : int(56 * rand()); printf "w%d%s", w, i % 17 ? " " : "\n" } print "" }'
}
mkdir "$dir/text"
text 1500 1 >"$dir/text/train.txt"
text 300 2 >"$dir/text/valid.txt"
text 300 3 >"$dir/text/test.txt"
cp "$build/alibi" "$build/libalibi_cuda_emulated.so" "$dir/bin/"
alibi=$dir/bin/alibi

# run PROJECT DEVICES [option…]
run() {
    project=$1
    devices=$2
    shift 2
    timeout 60 "$alibi" run "$dir/grid" --project "$dir/$project" --devices "$devices" "$@"
}
query() { "$alibi" query --project "$dir/$1" --format csv "$2" | tail -n +2 | tr -d '\r'; }
for project in cpu named shared gpus idle busy visible instance small short lost moved unready ranks staged toold; do
    mkdir "$dir/$project"
    expect 0 "" "$alibi" data prepare tiny --text "$dir/text" --project "$dir/$project"
done

# The test device is used only if it is named.
expect 0 "" "$alibi" devices
grep -q emulated "$dir/out" && fail "alibi devices lists the test device without --all"
expect 0 "cuda:emulated" "$alibi" devices --all
expect 0 "ranks *no GPU can be used: NCCL is not needed" "$alibi" doctor
expect 0 "" run cpu auto
[ "$(query cpu "SELECT DISTINCT device FROM attempts WHERE device LIKE '%emulated%'")" = "" ] || fail "auto took the test device"
expect 0 "" run named cuda:emulated
[ "$(query named "SELECT count(*) FROM evaluations")" = 2 ] || fail "not two evaluations of the named device"
losses="SELECT position, round(loss_nats, 4) FROM evaluations ORDER BY position"
[ "$(query named "$losses")" = "$(query cpu "$losses")" ] || fail "losses differ: $(query named "$losses") and on the CPU $(query cpu "$losses")"
[ "$(query named "SELECT DISTINCT device FROM evaluations")" = "$(query named "SELECT device FROM evaluations WHERE device LIKE '%emulated%' LIMIT 1")" ] || fail "an evaluation ran elsewhere"

# Memory of other programs on the device is not the run's.
expect 0 "" env EMULATION_OTHERS=700000000 timeout 60 "$alibi" run "$dir/grid" --project "$dir/shared" --devices cuda:emulated
memory="SELECT position, peak_memory_bytes FROM trainings ORDER BY position"
[ "$(query shared "$memory")" = "$(query named "$memory")" ] || fail "peak memory beside other programs: $(query shared "$memory"), alone $(query named "$memory")"

# GPUs as a driver shows them.
ln -s "$build/emulation/libnvidia-ml.so.1" "$dir/driver/libnvidia-ml.so.1"
ln -s "$build/emulation/libnvidia-ml.so.1" "$dir/driver/libcuda.so.1"
mv "$dir/bin/libalibi_cuda_emulated.so" "$dir/bin/libalibi_cuda.so"
export LD_LIBRARY_PATH="$dir/driver" NVML_FAKE_FREE="900000000 800000000"
expect 0 "Fake GPU 1.*800 MB free" "$alibi" devices
expect 0 "^ranks *a training on several GPUs exchanges by NCCL 2.27.5$" "$alibi" devices
EMULATION_NCCL=absent expect 0 "^ok *ranks *a training on several GPUs exchanges through host memory, slowly: NCCL: it was not found" "$alibi" doctor
ALIBI_NCCL=0 expect 0 "^ranks .*host memory, slowly: NCCL is off" "$alibi" devices
EMULATION_NCCL=2708 expect 0 "^ranks .*is not possible: NCCL 2.7.8 was found, alibi needs NCCL 2.14.0 or later" "$alibi" devices
expect 0 "" run gpus auto
[ "$(query gpus "SELECT count(*) FROM evaluations")" = 2 ] || fail "$(query gpus "SELECT count(*) FROM evaluations") evaluations on two GPUs"
[ "$(query gpus "$losses")" = "$(query cpu "$losses")" ] || fail "losses on GPUs differ"

# One training on both, by NCCL and through host memory.
exact="SELECT position, loss_nats FROM evaluations ORDER BY position"
export NVML_FAKE_NAME="Fake GPU,Fake GPU" # ranks need GPUs of one model
expect 0 "" run ranks auto --ranks 2
grep -q "2 ranks exchange by NCCL 2.27.5" "$dir"/ranks/runs/*/1/log || fail "no log names NCCL"
ALIBI_NCCL=0 expect 0 "" run staged auto --ranks 2
grep -q "this is slow: NCCL is off (ALIBI_NCCL=0)" "$dir"/staged/runs/*/1/log || fail "no log warns of the exchange through host memory"
for project in ranks staged; do
    [ "$(query $project "$exact")" = "$(query gpus "$exact")" ] || fail "losses after $project on two GPUs differ: $(query $project "$exact"), on one $(query gpus "$exact")"
    [ "$(query $project "SELECT DISTINCT ranks FROM trainings")" = 2 ] || fail "$project: not two ranks"
done
# doctor exchanges between two GPUs.
expect 0 "^ok *exchange *between cuda:0 and cuda:1: NCCL 2.27.5, .* GB/s" "$alibi" doctor
shm_kb=$(df --output=avail -k /dev/shm | tail -n 1)
[ "$(grep -c "^note */dev/shm .*--shm-size=1g" "$dir/out")" = "$([ "$shm_kb" -lt 976563 ] && echo 1 || echo 0)" ] || fail "/dev/shm has $shm_kb KB: $(cat "$dir/out")"
ALIBI_NCCL=0 expect 0 "^ok *exchange *between cuda:0 and cuda:1: host memory and sockets, .* GB/s" "$alibi" doctor
EMULATION_NCCL=usage expect 69 "^WRONG exchange *between .*Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 0" "$alibi" doctor
EMULATION_NCCL=wrong expect 69 "^WRONG exchange *between .*by NCCL 2.27.5, word 7 of 262144 arrives as" "$alibi" doctor
# What another try would meet again has one attempt and costs no GPU; a link that breaks later is a loss.
mkdir "$dir/refused" "$dir/broken"
for project in refused broken; do expect 0 "" "$alibi" data prepare tiny --text "$dir/text" --project "$dir/$project"; done
EMULATION_NCCL=usage expect 66 "NCCL: invalid usage: Duplicate GPU detected" run refused auto --ranks 2
[ "$(query refused "SELECT DISTINCT state FROM attempts")" = failed ] || fail "NCCL's refusal is $(query refused "SELECT DISTINCT state FROM attempts")"
EMULATION_NCCL="broken later" run broken auto --ranks 2 --tries 1 >"$dir/out" 2>&1
[ "$(query broken "SELECT state FROM attempts ORDER BY run_id, attempt LIMIT 1")" = lost ] || fail "a link that breaks is $(query broken "SELECT state FROM attempts"): $(cat "$dir/out")"
EMULATION_NCCL=absent expect 1 "NCCL: it was not found; ALIBI_NCCL=0 says" "$build/tests/worker/check_ranks" cuda:emulated
EMULATION_NCCL=2708 expect 66 "NCCL 2.7.8 was found, alibi needs NCCL 2.14.0 or later" run toold auto --ranks 2 --tries 1
unset NVML_FAKE_NAME

# A GPU that is too old, one in use, one whose driver is too old: each is listed with the reason.
several() {
    NVML_FAKE_FREE="900000000 800000000 700000000" NVML_FAKE_CAPABILITY="70 89 90" NVML_FAKE_OTHERS="0 2 0" \
        NVML_FAKE_NAME="Tesla V100-SXM2-16GB,NVIDIA GeForce RTX 4090,NVIDIA H100 80GB HBM3" "$@"
}
EMULATION_OPEN=35@GPU-fake-2 several expect 0 "" "$alibi" devices
sed -i '/^cuda:/!d' "$dir/out"
golden devices_three_gpus.txt
EMULATION_OPEN=35@GPU-fake-2 several expect 69 "WRONG *cuda:2 .*driver 580" "$alibi" doctor
several expect 0 "on cuda:1 (NVIDIA GeForce RTX 4090.*, 1 at a time; modelled, not measured: 40 % of its peak of 165.2" "$alibi" plan "$dir/grid" --project "$dir/idle" --devices cuda:1
EMULATION_OPEN=802 expect 0 "cuda:0 .*not usable: .*fabric manager" "$alibi" devices
EMULATION_SHARED=64 expect 0 "cuda:0 .*not usable: .*64 KB of shared memory, alibi needs 99" "$alibi" devices
# Kernels without code for the GPU: products of the library alone would succeed.
EMULATION_LAUNCH=209 expect 69 "WRONG *cuda:0 .*no kernel image.*build alibi with a newer CUDA" "$alibi" doctor
NVML_FAKE_INIT=18 expect 0 "cuda:0 .*not usable: .*does not start: run nvidia-smi for the reason" "$alibi" devices
# A library that needs a newer C library than the machine has.
mkdir "$dir/newer"
echo 'void from_later(void); void from_later(void) {}' >"$dir/newer/c.c"
echo 'GLIBC_9.99 { from_later; };' >"$dir/newer/c.map"
echo 'void from_later(void); void ask(void); void ask(void) { from_later(); }' >"$dir/newer/ask.c"
${CC:-cc} -shared -fPIC -nostdlib -Wl,-soname,libc.so.6 -Wl,--version-script="$dir/newer/c.map" -o "$dir/newer/libc.so.6" "$dir/newer/c.c"
mv "$dir/bin/libalibi_cuda.so" "$dir/newer/"
${CC:-cc} -shared -fPIC -nostdlib -o "$dir/bin/libalibi_cuda.so" "$dir/newer/ask.c" "$dir/newer/libc.so.6"
expect 0 "cuda:0 .*not usable: .*GLIBC_9.99.*this machine's C library is older: .*bundle" "$alibi" devices
mv "$dir/newer/libalibi_cuda.so" "$dir/bin/"

# auto avoids the GPU in use, and those that CUDA_VISIBLE_DEVICES hides.
several expect 0 "" run idle auto
[ "$(query idle "SELECT DISTINCT slot FROM attempts" | grep -c 'cuda:[01]')" = 0 ] || fail "auto took a GPU in use: $(query idle "SELECT DISTINCT slot FROM attempts")"
NVML_FAKE_OTHERS="1 1" expect 69 "other programs compute on every usable GPU" run busy auto
NVML_FAKE_OTHERS="3 3" NVML_FAKE_HELD=300000000 expect 0 "" run busy auto
CUDA_VISIBLE_DEVICES=1 expect 0 "cuda:0 .*not usable: CUDA_VISIBLE_DEVICES=1 leaves it out" "$alibi" devices
CUDA_VISIBLE_DEVICES=GPU-fake-1 expect 0 "" run visible auto
[ "$(query visible "SELECT count(*) FROM attempts WHERE slot LIKE '%cuda:0%'")" = 0 ] || fail "auto took a hidden GPU"
CUDA_VISIBLE_DEVICES=1 expect 69 "leaves it out" run visible cuda:0
# An instance of a divided GPU is a device; the GPU itself is not.
NVML_FAKE_MIG="1 0" expect 0 "cuda:0 .*not usable: it is divided into MIG instances; name them" "$alibi" devices
export CUDA_VISIBLE_DEVICES=MIG-fake-1,MIG-gone
NVML_FAKE_MIG="0 1" expect 0 "cuda:0 *Fake GPU 1  1 at a time.*800 MB free" "$alibi" devices
grep -q "cuda:1 .*not usable: .*the driver does not know MIG-gone" "$dir/out" || fail "an instance that does not exist: $(cat "$dir/out")"
expect 0 "" run instance cuda:0
unset CUDA_VISIBLE_DEVICES

# Too small: rejected before anything starts, with the bytes needed and free.
NVML_FAKE_FREE="100000 90000" expect 70 "needs .* MB of memory, but cuda:0 has 0.1 MB free of 1000.0 MB" run small auto
[ "$(query small "SELECT count(*) FROM attempts")" = 0 ] || fail "a rejected run was started"

# Memory runs out in the worker; a GPU breaks; another takes over.
EMULATION_MEMORY=33854432 expect 70 "no memory for [0-9]* bytes: [0-9]* of the GPU's 33854432 are free" run short cuda:0 --tries 1
EMULATION_LOSE=9 expect 69 "the GPU cannot be used" run lost cuda:0
[ "$(query lost "SELECT count(*) FROM attempts")" = 1 ] || fail "a lost GPU got another worker"
EMULATION_LOSE=9@GPU-fake-0 expect 0 "cuda:0 disabled for this run" run moved auto
[ "$(query moved "$losses")" = "$(query cpu "$losses")" ] || fail "losses after a move differ"
[ "$(query moved "SELECT count(*) FROM attempts WHERE state='failed'")" = 1 ] || fail "not one attempt failed before the move"

EMULATION_OPEN=802@GPU-fake-0 expect 0 "cuda:0 disabled for this run of alibi" run unready auto
[ "$(query unready "$losses")" = "$(query cpu "$losses")" ] || fail "losses differ if another GPU is not ready"

# cuBLASLt: CUDA 13 preferred to CUDA 12; either alone; none; one that lacks a function. NCCL: in the path, by its name, none.
stub() { # folder soname version
    mkdir -p "$dir/$1"
    for name in $(sed -nE 's/.* F\([a-z_]+, ((cublasLt|nccl)[A-Za-z_]*)[,)].*/\1/p' cuda/gemm_internal.h cuda/nccl.h); do echo "long $name(void); long $name(void) { return $3; }"; done |
        ${CC:-cc} -x c -shared -fPIC -nostdlib -o "$dir/$1/$2" -
}
stub only12 libcublasLt.so.12 120805
stub both libcublasLt.so.12 120805
stub both libcublasLt.so.13 130100
# Ignores the libraries installed on this machine.
finds() { /lib64/ld-linux-x86-64.so.2 --inhibit-cache --library-path "$dir/$1" "$build/emulation/print_libraries" ${2:-}; }
expect 0 "cuBLASLt 120805" finds only12
expect 0 "cuBLASLt 130100" finds both
expect 69 "neither libcublasLt.so.13 nor libcublasLt.so.12 was found; install cuBLAS of CUDA 13 or 12" finds none
echo >"$dir/both/libcublasLt.so.13"
expect 69 "cannot be opened: .*libcublasLt.so.13: file too short" finds both
mkdir "$dir/old"
${CC:-cc} -x c -shared -fPIC -nostdlib -o "$dir/old/libcublasLt.so.12" /dev/null
expect 69 "undefined symbol: cublasLt[A-Za-z]*; use that of CUDA 13 or 12" finds old
stub nccl libnccl.so.2 0
stub nccl nccl-elsewhere.so 0
# As pip installs them; $dir/alone has a cuBLASLt and a NCCL beside it.
stub pip/cu13/lib libcublasLt.so.13 130100
stub pip/nccl/lib libnccl.so.2 0
stub alone libcublasLt.so.12 120805
stub alone libnccl.so.2 0
expect 0 "NCCL is here" finds nccl nccl
expect 66 "NCCL: libnccl.so.2 was not found; install it" finds none nccl
expect 0 "NCCL is here" finds pip/cu13/lib nccl
expect 0 "NCCL is here" finds alone nccl
cp "$build/emulation/print_libraries" "$dir/nccl/"
expect 0 "NCCL is here" /lib64/ld-linux-x86-64.so.2 --inhibit-cache --library-path "$dir/none" "$dir/nccl/print_libraries" nccl
# A library that needs one that is missing exists, and cannot be opened.
mkdir "$dir/needy"
echo >"$dir/needy/empty.c"
${CC:-cc} -shared -fPIC -nostdlib -Wl,-soname,libneeded.so.1 -o "$dir/needy/libneeded.so.1" "$dir/needy/empty.c"
${CC:-cc} -shared -fPIC -nostdlib -Wl,--no-as-needed -o "$dir/needy/libnccl.so.2" "$dir/needy/empty.c" "$dir/needy/libneeded.so.1"
rm "$dir/needy/libneeded.so.1"
expect 69 "NCCL cannot be opened: libneeded.so.1: .*No such file" finds needy nccl
ALIBI_NCCL=$dir/nccl/nccl-elsewhere.so expect 0 "NCCL is here" finds none nccl
ALIBI_NCCL=$dir/none.so expect 69 "NCCL: ALIBI_NCCL=$dir/none.so: no such file" finds nccl nccl
mv "$dir/old/libcublasLt.so.12" "$dir/old/libnccl.so.2"
expect 69 "NCCL: .*undefined symbol: ncclGetVersion; use 2.14 or later" finds old nccl

finish
