#!/bin/sh
# cuda_toolkits.sh - tests that the build works with every CUDA toolkit that cuda/README.md promises, and names those that
# are too old. Continuous integration calls it; without PyPI it checks less, and says so.
# usage: tests/cuda_toolkits.sh BUILD
. tests/cli/expect.sh

# toolkit VERSION TARGET…: a folder that looks like that CUDA toolkit to make
toolkit() {
    rm -rf "$dir/cuda"
    mkdir -p "$dir/cuda/bin" "$dir/cuda/include"
    touch "$dir/cuda/include/cublasLt.h"
    echo "#define CUDART_VERSION  $1" >"$dir/cuda/include/cuda_runtime_api.h"
    shift
    printf '#!/bin/sh\nprintf "sm_%%s\\n" %s\n' "$*" >"$dir/cuda/bin/nvcc"
    chmod +x "$dir/cuda/bin/nvcc"
}
# What make would do with it, as far as it concerns CUDA.
dry() { make -n "$@" CUDA_HOME="$dir/cuda" NVCC="$dir/cuda/bin/nvcc" BUILD="$dir/build" 2>&1 | grep "nvcc\|is CUDA\|libalibi_cuda.so"; }

# Too old: the program is built without GPUs, and make says why.
toolkit 11080 80 86 89 90
expect 0 "is CUDA 11.8, expected 12.0 or later" dry all
grep -q "bin/nvcc -" "$dir/out" && fail "make builds the backend with CUDA 11.8"
expect 0 "is CUDA 11.8, expected 12.0 or later; .*was not built" dry cuda

# A bundle has code for the GPUs that nvcc knows.
toolkit 12000 80 86 87 89 90
expect 0 "code=sm_90a " dry bundle
grep -q "code=sm_1[02]0" "$dir/out" && fail "a bundle by CUDA 12.0 asks for GPUs that it does not know"
toolkit 12080 80 86 87 89 90 100 101 120
expect 0 "code=sm_80 .*code=sm_86 .*code=sm_89 .*code=sm_90a .*code=sm_100 .*code=sm_120 " dry bundle

# The host code compiles with the headers of the oldest toolkit: 375 MB from PyPI, most of them cuBLAS itself.
mkdir "$dir/wheels" "$dir/headers"
if ! timeout 300 python3 -m pip download -q --no-deps -d "$dir/wheels" nvidia-cuda-runtime-cu12==12.0.107 nvidia-cublas-cu12==12.0.1.189 >"$dir/out" 2>&1; then
    echo "skipped: the headers of CUDA 12.0 cannot be downloaded: $(tail -n 1 "$dir/out")"
    finish
    exit
fi
for wheel in "$dir"/wheels/*.whl; do
    python3 -c 'import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
wheel.extractall(sys.argv[2], [name for name in wheel.namelist() if "/include/" in name])' "$wheel" "$dir/headers" || fail "$wheel cannot be unpacked"
done
for file in cuda/*.c; do
    expect 0 "" ${CC:-cc} -fsyntax-only -std=gnu17 -Wall -Wextra -Werror -D_GNU_SOURCE -Icuda -Isrc -isystem "$dir/headers/nvidia/cuda_runtime/include" -isystem "$dir/headers/nvidia/cublas/include" "$file"
done
finish
