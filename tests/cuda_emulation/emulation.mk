# emulation.mk - the CUDA backend on the host emulator, in three builds; included by the Makefile.
#
#   plain   $(BUILD)/libalibi_cuda_emulated.so        the device cuda:emulated of this build's programs; kernels use fused
#                                                     multiply-add, as with nvcc, if this processor has it
#   asan    build/asan/libalibi_cuda_emulated.so      address and undefined-behaviour sanitizers, with programs built the same way
#   tsan    $(EMULATED)/tsan/libalibi_cuda_emulated.so  race detector, with programs linked for it from this build's objects
# The emulator's own files are not instrumented for races: their accesses are not a kernel's.
EMULATION := tests/cuda_emulation
EMULATED := $(BUILD)/emulation
EMULATED_KINDS ?= gpu plain asan tsan
CXX ?= g++

EMULATED_DIR_plain := $(BUILD)
EMULATED_DIR_asan := build/asan
EMULATED_DIR_tsan := $(EMULATED)/tsan
ASAN_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
EMULATED_plain := -O2
EMULATED_FUSES := $(if $(shell grep -sow -m1 fma /proc/cpuinfo),-mfma -ffp-contract=fast)
EMULATED_asan := -O1 $(ASAN_FLAGS)
EMULATED_tsan := -O1 -fsanitize=thread
MACHINE_plain := -O2
MACHINE_asan := -O1 $(ASAN_FLAGS)
MACHINE_tsan := -O1 -DEMULATION_TSAN

EMULATED_WARN := -Wall -Wextra -Werror -Wno-error=extra -Wno-unknown-pragmas
EMULATED_CPPFLAGS := -Icuda -Isrc -I$(EMULATION) -I$(EMULATION)/include -D_GNU_SOURCE -MMD -MP
EMULATED_CXXFLAGS := -std=c++17 -g -fPIC -fno-strict-aliasing -ffp-contract=off $(EMULATED_WARN)
EMULATED_CFLAGS := -std=gnu17 -g -fPIC -ffp-contract=off $(WARN)

# Plain loops replace cuBLASLt, sockets NCCL. src/base is an archive: the linker takes what it needs.
EMULATED_HOST := $(filter-out cuda/library.c cuda/cublaslt.c cuda/nccl.c,$(wildcard cuda/*.c)) $(EMULATION)/cublaslt_emulated.c $(EMULATION)/nccl_emulated.c $(EMULATION)/library_emulated.c
EMULATED_OBJ := $(patsubst %,%.o,$(wildcard cuda/*.cu) $(EMULATED_HOST))
MACHINE_OBJ := $(patsubst %,%.o,$(wildcard $(EMULATION)/*.cpp))
# tests/cuda: programs that call the launchers of cuda/kernels.h directly, without a backend.
KERNEL_OBJ := $(patsubst %,%.o,$(wildcard cuda/*.cu))
KERNEL_TESTS := $(patsubst tests/cuda/%.cu,%,$(wildcard tests/cuda/*.cu))
EMULATED_BASE := $(patsubst %,%.o,$(wildcard src/base/*.c))

# $(1) the kind
define emulated_rules
$$(EMULATED)/$(1)/%.cu.o: %.cu
	@mkdir -p $$(@D)
	$$(Q)$$(CXX) $$(EMULATED_CPPFLAGS) $$(EMULATED_CXXFLAGS) $$(EMULATED_$(1)) -x c++ -c -o $$@ $$<

$$(EMULATED)/$(1)/%.cpp.o: %.cpp
	@mkdir -p $$(@D)
	$$(Q)$$(CXX) $$(EMULATED_CPPFLAGS) $$(EMULATED_CXXFLAGS) -Wshadow $$(MACHINE_$(1)) -c -o $$@ $$<

$$(EMULATED)/$(1)/%.c.o: %.c
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(EMULATED_CPPFLAGS) $$(EMULATED_CFLAGS) $$(EMULATED_$(1)) -c -o $$@ $$<

$$(EMULATED)/$(1)/libbase.a: $$(EMULATED_BASE:%=$$(EMULATED)/$(1)/%)
	$$(Q)rm -f $$@; ar rcs $$@ $$^

$$(EMULATED_DIR_$(1))/libalibi_cuda_emulated.so: $$(EMULATED_OBJ:%=$$(EMULATED)/$(1)/%) $$(MACHINE_OBJ:%=$$(EMULATED)/$(1)/%) $$(EMULATED)/$(1)/libbase.a
	@mkdir -p $$(@D)
	$$(Q)$$(CXX) -shared -Wl,-Bsymbolic $$(EMULATED_$(1)) $$(if $$(filter plain,$(1)),-Wl$$(,)--no-undefined) -o $$@ $$^ -lm

$$(EMULATED)/$(1)/selftest: $$(patsubst %,$$(EMULATED)/$(1)/$$(EMULATION)/%.cu.o,selftest selftest_warp selftest_block selftest_runtime) $$(MACHINE_OBJ:%=$$(EMULATED)/$(1)/%)
	$$(Q)$$(CXX) $$(EMULATED_$(1)) -o $$@ $$^

$$(EMULATED)/$(1)/mutants: $$(patsubst %,$$(EMULATED)/$(1)/$$(EMULATION)/%.cu.o,mutants selftest_warp selftest_block selftest_runtime) $$(MACHINE_OBJ:%=$$(EMULATED)/$(1)/%)
	$$(Q)$$(CXX) $$(EMULATED_$(1)) -o $$@ $$^

$$(KERNEL_TESTS:%=$$(EMULATED)/$(1)/kernels/%): $$(EMULATED)/$(1)/kernels/%: $$(EMULATED)/$(1)/tests/cuda/%.cu.o $$(KERNEL_OBJ:%=$$(EMULATED)/$(1)/%) $$(MACHINE_OBJ:%=$$(EMULATED)/$(1)/%)
	@mkdir -p $$(@D)
	$$(Q)$$(CXX) $$(EMULATED_$(1)) -o $$@ $$^
endef
, := ,
ifneq ($(BUILD),build/asan) # build/asan only adds programs to the asan kind of another build
$(foreach kind,plain asan tsan,$(eval $(call emulated_rules,$(kind))))
endif

$(EMULATED)/plain/cuda/%.cu.o: EMULATED_plain += $(EMULATED_FUSES)

EMULATED_PROGRAMS := tests/ops/test_ops tests/ops/check_capture tests/cuda_emulation/check_products tests/check_oracle tests/check_open
# The programs that open cuda:emulated. Those of tsan are this build's objects, linked with the race detector.
$(EMULATED)/tsan/tests/check_oracle: tests/model/check_oracle.c
$(EMULATED)/tsan/tests/check_open: $(wildcard tests/pretrained/check_open*.c)
$(EMULATED)/tsan/tests/ops/test_ops: tests/ops/test_ops.c
$(EMULATED)/tsan/tests/ops/check_capture: tests/ops/check_capture.c
$(EMULATED)/tsan/tests/cuda_emulation/check_products: $(EMULATION)/check_products.c
$(EMULATED_PROGRAMS:%=$(EMULATED)/tsan/%): $(TEST_OBJ) $(BUILD)/libalibi.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -Itests $(CFLAGS) -fsanitize=thread -o $@ $(filter %.c,$^) $(TEST_OBJ) $(BUILD)/libalibi.a $(LDLIBS) -lcmocka

# A fake of the driver's library, for check_program.sh.
$(EMULATED)/libnvidia-ml.so.1: $(EMULATION)/nvml_fake.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(EMULATED_CFLAGS) -shared -o $@ $<

# cublaslt.c, nccl.c and load.c alone: how the backend finds the real libraries.
$(EMULATED)/print_libraries: $(EMULATED)/plain/cuda/cublaslt.c.o $(EMULATED)/plain/cuda/nccl.c.o $(EMULATED)/plain/cuda/load.c.o $(EMULATED)/plain/$(EMULATION)/print_libraries.c.o $(EMULATED)/plain/libbase.a
	$(Q)$(CC) -o $@ $^ -ldl

# Where a toolkit of CUDA 13 is: a file that compiles only if each enumerator of the emulator's headers has the toolkit's
# value. Older toolkits lack some.
EMULATED_NAMES := (cuda[A-Za-z]+|CUDA_R_[0-9A-Z]+|CUBLAS[A-Za-z0-9_]+)
$(EMULATED)/values.c: $(wildcard $(EMULATION)/include/*.h)
	@mkdir -p $(@D)
	$(Q)sed -E 's/\bE\((cuda[A-Za-z]+), ([0-9]+),.*/\1 = \2/' $^ | grep -oE '\b$(EMULATED_NAMES) = [0-9]+' | \
	    awk 'BEGIN { print "#include <cublasLt.h>\n#include <cuda_runtime_api.h>\n#if CUDART_VERSION >= 13000" } { printf "_Static_assert((int)%s == %s, \"%s\");\n", $$1, $$3, $$1 } END { print "#endif" }' >$@
$(EMULATED)/values.o: $(EMULATED)/values.c
	$(Q)$(CC) -std=gnu17 -isystem $(CUDA_HOME)/include -c -o $@ $<
ifneq ($(CUDA_LIBRARY),)
cuda check-cuda-emulated: $(EMULATED)/values.o
endif

.PHONY: emulated-programs-plain emulated-programs-asan emulated-programs-tsan check-cuda-emulated
emulated-programs-plain: $(EMULATED_PROGRAMS:%=$(BUILD)/%) $(BUILD)/tests/cuda_emulation/check_faults $(BUILD)/tests/cuda_emulation/check_exchange $(BUILD)/tests/cuda_emulation/check_shapes $(BUILD)/alibi $(BUILD)/tests/bench/bench_gpu $(EMULATED)/libnvidia-ml.so.1 $(EMULATED)/print_libraries $(BUILD)/tests/model/check_training $(BUILD)/tests/model/test_score $(BUILD)/tests/model/test_forms $(BUILD)/tests/model/check_graphs $(BUILD)/tests/worker/check_device $(BUILD)/tests/worker/check_ranks
emulated-programs-asan:
	@$(MAKE) --no-print-directory BUILD=build/asan OPT=-O1 SAN='$(ASAN_FLAGS)' $(EMULATED_PROGRAMS:%=build/asan/%) build/asan/tests/cuda_emulation/check_exchange build/asan/tests/cuda_emulation/check_shapes
emulated-programs-tsan: $(EMULATED_PROGRAMS:%=$(EMULATED)/tsan/%)

# The kind gpu needs what plain needs.
EMULATED_ALL = $(foreach kind,$(sort $(EMULATED_KINDS:gpu=plain)),$(EMULATED)/$(kind)/selftest $(EMULATED)/$(kind)/mutants $(KERNEL_TESTS:%=$(EMULATED)/$(kind)/kernels/%) \
    $(EMULATED_DIR_$(kind))/libalibi_cuda_emulated.so emulated-programs-$(kind))

check-cuda-emulated: $(EMULATED_ALL) ## kernels and host code of the CUDA backend on the host emulator: check-gpu's legs, and three builds: plain, asan, tsan
	@$(EMULATION)/check.sh $(BUILD) $(EMULATED_KINDS)

ifeq ($(GPU_DEVICE),cuda:emulated)
check-gpu: $(EMULATED)/plain/selftest $(KERNEL_TESTS:%=$(EMULATED)/plain/kernels/%) $(BUILD)/libalibi_cuda_emulated.so
endif
