# cuda.mk - builds libalibi_cuda.so if nvcc and cublasLt.h are installed. Included by the Makefile.
#
# Kernels are compiled for CUDA_TARGETS, and for other GPUs as PTX of sm_80. Code of sm_80 also runs on sm_86 and sm_89.
# A bundle has all targets. A spilled register is an error. The runtime is linked statically. cuBLASLt, of CUDA 13 or 12, is
# loaded when a GPU is opened: from beside the library, from where it was built, or from the loader's path.
NVCC ?= $(firstword $(wildcard $(shell command -v nvcc 2>/dev/null) /usr/local/cuda/bin/nvcc))
CUDA_HOME ?= $(patsubst %/bin/nvcc,%,$(realpath $(NVCC)))
CUDA_ABSENT := nvcc or cublasLt.h not found (NVCC=$(NVCC))
ifneq ($(and $(NVCC),$(wildcard $(CUDA_HOME)/include/cublasLt.h)),)
# 1000 major + 10 minor
CUDA_VERSION := $(or $(shell sed -n 's/^\#define CUDART_VERSION *//p' $(CUDA_HOME)/include/cuda_runtime_api.h),0)
ifeq ($(shell test $(CUDA_VERSION) -ge 12000 && echo yes),yes)
CUDA_LIBRARY := $(BUILD)/libalibi_cuda.so
else
CUDA_ABSENT := $(CUDA_HOME) is CUDA $(shell expr $(CUDA_VERSION) / 1000).$(shell expr $(CUDA_VERSION) % 1000 / 10), expected 12.0 or later; give a newer one as NVCC=/usr/local/cuda-13.0/bin/nvcc
$(warning $(CUDA_ABSENT), or build without GPUs by NVCC=)
endif
endif

CUDA_TARGETS ?= 80 90a
# What a bundle has: those that nvcc knows, which lists sm_90a as sm_90. sm_100 and sm_120 need CUDA 12.8.
CUDA_TARGETS_ALL = $(patsubst 90,90a,$(patsubst sm_%,%,$(filter sm_80 sm_86 sm_89 sm_90 sm_100 sm_120,$(shell $(NVCC) --list-gpu-code))))
CUDA_ARCHS = -gencode arch=compute_80,code=compute_80 $(foreach target,$(CUDA_TARGETS),-gencode arch=compute_$(target),code=sm_$(target))
CUDA_CPPFLAGS := -Icuda -Isrc -D_GNU_SOURCE
NVCCFLAGS := -std=c++17 -O3 -lineinfo -ccbin $(lastword $(CXX)) -Xcompiler -fPIC,-fvisibility=hidden -Xptxas -v,-warn-spills -Werror all-warnings
CUDA_OBJ := $(patsubst cuda/%,$(BUILD)/cuda/%.o,$(wildcard cuda/*.cu cuda/*.c)) $(BUILD)/cuda/err.c.o
CUDA_CFLAGS = -std=gnu17 -O2 -g -fPIC -fvisibility=hidden $(WARN) -isystem $(CUDA_HOME)/include

$(BUILD)/cuda/targets: FORCE
	@mkdir -p $(@D)
	@echo '$(CUDA_TARGETS)' | cmp -s - $@ || echo '$(CUDA_TARGETS)' >$@

$(BUILD)/cuda/%.cu.o: cuda/%.cu $(BUILD)/cuda/targets
	@mkdir -p $(@D)
	$(Q)$(NVCC) $(CUDA_CPPFLAGS) $(NVCCFLAGS) $(CUDA_ARCHS) -MD -MP -MF $(@:.o=.d) -c -o $@ $< >$(@:.o=.log) 2>&1 || { cat $(@:.o=.log); rm -f $@; exit 1; }

$(BUILD)/cuda/%.c.o: cuda/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CUDA_CPPFLAGS) $(CUDA_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/cuda/err.c.o: src/base/err.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CUDA_CPPFLAGS) $(CUDA_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/libalibi_cuda.so: $(CUDA_OBJ)
	$(Q)$(NVCC) -shared -cudart static -ccbin $(lastword $(CXX)) -Xcompiler -static-libstdc++,-static-libgcc -o $@ $^ \
	    -Xlinker --exclude-libs -Xlinker ALL -Xlinker --no-undefined -Xlinker -rpath -Xlinker '$$ORIGIN:$(CUDA_HOME)/lib64:$(CUDA_HOME)/lib/x86_64-linux-gnu'

.PHONY: cuda
cuda: $(CUDA_LIBRARY) ## build the CUDA backend (needs nvcc); print how many registers its kernels use
ifeq ($(CUDA_LIBRARY),)
	@echo "cuda: $(CUDA_ABSENT); libalibi_cuda.so was not built" >&2; exit 1
else
	@cat $(BUILD)/cuda/*.log | awk '/Used [0-9]+ registers/ { n++; if ($$5 + 0 > most) most = $$5 + 0 } / bytes spill stores/ { spills += $$5 } \
	    END { printf "cuda: %d kernels, at most %d registers, %d bytes spilled\n", n, most, spills; exit spills > 0 || n == 0 }'
endif

# blocks.txt records the least number of blocks of an SM; UPDATE=1 rewrites it for CUDA_TARGETS. sm_89 runs its own code or that
# of sm_80: the smaller number counts.
.PHONY: cuda-report
cuda-report: $(CUDA_LIBRARY) $(BUILD)/libalibi_cuda_emulated.so $(BUILD)/tests/cuda_emulation/check_shapes ## print registers, shared memory, blocks and warps of an SM, and spills of each kernel, and the modelled step
	@python3 tests/cuda_report/report.py $(BUILD) $(if $(UPDATE),--update)

# The emulator's self-test, compiled for a GPU. If it passes on both, the emulator lays out registers as the GPU does.
$(BUILD)/cuda/selftest: $(wildcard tests/cuda_emulation/selftest*.cu) tests/cuda_emulation/selftest.h cuda/gpu.cuh
	@mkdir -p $(@D)
	$(Q)$(NVCC) $(CUDA_CPPFLAGS) -Itests/cuda_emulation -std=c++17 -O2 -ccbin $(lastword $(CXX)) -Werror all-warnings $(CUDA_ARCHS) -o $@ $(filter %.cu,$^)

# The programs of tests/cuda, which call kernels without a backend; each links what it needs from the archive.
$(BUILD)/cuda/libkernels.a: $(patsubst cuda/%,$(BUILD)/cuda/%.o,$(wildcard cuda/*.cu))
	$(Q)rm -f $@; ar rcs $@ $^

KERNEL_PROGRAMS := $(patsubst tests/cuda/%.cu,$(BUILD)/cuda/kernels/%,$(wildcard tests/cuda/*.cu))
$(KERNEL_PROGRAMS): $(BUILD)/cuda/kernels/%: tests/cuda/%.cu $(wildcard tests/cuda/*.h) $(BUILD)/cuda/libkernels.a
	@mkdir -p $(@D)
	$(Q)$(NVCC) $(CUDA_CPPFLAGS) -std=c++17 -O2 -ccbin $(lastword $(CXX)) -Werror all-warnings $(CUDA_ARCHS) -o $@ $(filter-out %.h,$^)

# The device of check-gpu and bench-gpu: DEVICE=cuda:1, or DEVICES with one GPU.
GPU_DEVICE := $(or $(DEVICE),$(filter cuda:%,$(DEVICES)))
GPU_TESTS := $(addprefix $(BUILD)/,alibi tests/ops/test_ops tests/check_oracle tests/check_open tests/model/check_training tests/model/test_score tests/model/test_forms tests/model/check_graphs tests/ops/check_capture tests/worker/check_device tests/worker/check_ranks)
GPU_PROGRAMS := $(GPU_TESTS) $(if $(CUDA_LIBRARY),$(CUDA_LIBRARY) $(BUILD)/cuda/selftest $(KERNEL_PROGRAMS))

# emulation.mk adds what cuda:emulated needs.
.PHONY: check-gpu
check-gpu: $(if $(filter cuda:emulated,$(GPU_DEVICE)),$(GPU_TESTS),$(GPU_PROGRAMS)) ## run op table, oracle, training, self-test and compute-sanitizer on a GPU (DEVICE=cuda:0 or cuda:emulated, LEGS=smoke, RANKS=2); skips are failures
	@tests/check_gpu.sh $(BUILD) $(GPU_DEVICE)
