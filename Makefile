# SPDX-License-Identifier: GPL-3.0-or-later
# refinspect: one non-recursive Makefile.  `make help` lists the targets.
#
# Variables of use on the command line:
#   BUILD=DIR          where everything that is built goes (default build)
#   SANITIZE=LIST      e.g. address,undefined; use another BUILD with it
#   WERROR=1           warnings are errors (CI)
#   V=1                show the commands
#   FIXTURES=LIST      names of the fixtures to run (default all)
#   PREFIX, DESTDIR    where `make install` puts things (default /usr/local)

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
SANITIZE ?=
WERROR ?=
V ?=

VERSION := 0.1.0

CFLAGS ?= -O2 -g
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
# Without libseccomp the tool is built all the same; --version says so.
seccomp := $(shell pkg-config --exists libseccomp 2>/dev/null && echo 1)
# Without libdeflate zlib inflates debug information, at less than half the speed.
deflate := $(shell pkg-config --exists libdeflate 2>/dev/null && echo 1)
ri_cflags := -std=gnu11 -D_GNU_SOURCE -pthread -Iinspector -Iinclude $(WARNINGS) \
	$(if $(seccomp),-DRI_HAVE_SECCOMP) $(if $(deflate),-DRI_HAVE_DEFLATE) \
	$(if $(WERROR),-Werror) \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
ri_ldflags := -pthread $(if $(SANITIZE),-fsanitize=$(SANITIZE))
# libbfd is linked statically: the shared one's name carries a version.
ri_libs := -ldw -lelf -lyaml -ljansson -lsmartcols -lreadline $(if $(seccomp),-lseccomp) \
	$(if $(deflate),-ldeflate) \
	-l:libbfd.a -l:libsframe.a -l:libiberty.a -lz -lzstd -ldl -lm

quiet = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)';)

floors := base target debug heap profile census learn check report cli
lib_sources := $(filter-out inspector/cli/main.c,$(foreach f,$(floors),$(sort $(wildcard inspector/$(f)/*.c))))
lib_objects := $(lib_sources:%.c=$(BUILD)/%.o) $(BUILD)/inspector/profiles.o
profiles := $(sort $(wildcard inspector/profiles/*.yaml))
unit_sources := $(sort $(wildcard tests/unit/*_test.c))
unit_programs := $(unit_sources:%.c=$(BUILD)/%)
tool_sources := $(sort $(wildcard tests/tools/*.c))
tool_programs := $(tool_sources:%.c=$(BUILD)/%)
fuzz_programs := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
# With SANITIZE=...,fuzzer-no-link and clang they get libFuzzer's main, else one of ours.
fuzz_main = $(if $(findstring fuzzer,$(SANITIZE)),,$(BUILD)/tests/fuzz/standalone.o)
mutate := $(BUILD)/tests/mutate/mutate
mutate_objects := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/mutate/*.c)))

manual := $(BUILD)/refinspect.1

.DEFAULT_GOAL := all
.PHONY: all
all: $(BUILD)/refinspect ## build the tool

# Rebuild when the flags change.
flags_text := $(CC) $(CFLAGS) $(ri_cflags) $(CPPFLAGS) $(LDFLAGS) $(VERSION)
$(BUILD)/flags: force
	@mkdir -p $(@D)
	@printf '%s\n' '$(flags_text)' | cmp -s - $@ || printf '%s\n' '$(flags_text)' >$@

.PHONY: force
force:

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(CC) $(ri_cflags) -DRI_VERSION='"$(VERSION)"' $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/inspector/profiles.c: tests/embed-profiles.sh $(profiles)
	@mkdir -p $(@D)
	$(call quiet,GEN,$@)sh tests/embed-profiles.sh $(profiles) >$@.tmp && mv $@.tmp $@

$(BUILD)/inspector/profiles.o: $(BUILD)/inspector/profiles.c $(BUILD)/flags
	$(call quiet,CC,$<)$(CC) $(ri_cflags) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/librefinspect.a: $(lib_objects)
	$(call quiet,AR,$@)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/refinspect: $(BUILD)/inspector/cli/main.o $(BUILD)/librefinspect.a
	$(call quiet,LD,$@)$(CC) $(CFLAGS) $(ri_ldflags) $(LDFLAGS) -o $@ $^ $(ri_libs)

$(unit_programs): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/librefinspect.a
	$(call quiet,LD,$@)$(CC) $(CFLAGS) $(ri_ldflags) $(LDFLAGS) -o $@ $^ -lcmocka $(ri_libs)

$(tool_programs): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/librefinspect.a
	$(call quiet,LD,$@)$(CC) $(CFLAGS) $(ri_ldflags) $(LDFLAGS) -o $@ $^ $(ri_libs)

$(fuzz_programs): $(BUILD)/%: $(BUILD)/%.o $(fuzz_main) $(BUILD)/librefinspect.a
	$(call quiet,LD,$@)$(CC) $(CFLAGS) $(ri_ldflags) $(if $(fuzz_main),,-fsanitize=fuzzer) \
		$(LDFLAGS) -o $@ $^ $(ri_libs)

$(mutate): $(mutate_objects) $(BUILD)/librefinspect.a
	$(call quiet,LD,$@)$(CC) $(CFLAGS) $(ri_ldflags) $(LDFLAGS) -o $@ $^ $(ri_libs)

# ---- fixtures ---------------------------------------------------------------

# Programs to be inspected, each in several builds.  Never sanitized (that would
# replace the allocator), and with their own flags: the build decides what is
# seen of them.  fixtures/README.md tells what they are.
fixture_headers := $(sort $(wildcard fixtures/*.h)) include/refobj.h
fixture_names := $(sort $(notdir $(basename $(wildcard fixtures/*.c fixtures/*.cc))))
fixture_variants := O0 O2 static-pie nodebug
fixture_flags_O0 := -O0 -g
fixture_flags_O2 := -O2 -g
fixture_flags_static-pie := -O2 -g -fPIE -static-pie -DFIXTURE_STATIC
fixture_flags_nodebug := -O2 -g0 -s
fixture_flags := -D_GNU_SOURCE -pthread -Iinclude -Wl,--build-id -Wall -Wextra -Wshadow \
	$(if $(WERROR),-Werror)
fixture_cflags := -std=gnu11 -Wstrict-prototypes -Wmissing-prototypes $(fixture_flags)
fixture_programs := $(foreach v,$(fixture_variants) stripped,\
	$(fixture_names:%=$(BUILD)/fixtures/$(v)/%))

define fixture_rules
$(BUILD)/fixtures/$(1)/%: fixtures/%.c $(fixture_headers) $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(call quiet,FIXTURE,$$@)$$(CC) $(fixture_cflags) $(fixture_flags_$(1)) -o $$@ $$<

$(BUILD)/fixtures/$(1)/%: fixtures/%.cc $(fixture_headers) $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(call quiet,FIXTURE,$$@)$$(CXX) -std=gnu++17 $(fixture_flags) $(fixture_flags_$(1)) -o $$@ $$<

# Shared libraries that fixtures load, without libc; static programs load none.
$(BUILD)/fixtures/$(1)/lib/%.so: fixtures/lib/%.c $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(call quiet,FIXTURE,$$@)$$(CC) $(fixture_cflags) $(filter-out -f% -static-pie,$(fixture_flags_$(1))) \
		-fPIC -shared -nostdlib -o $$@ $$<
endef
$(foreach v,$(fixture_variants),$(eval $(call fixture_rules,$(v))))

# Debug information in a file of its own, found by build-id below
# $(BUILD)/fixtures/stripped/debug.
$(BUILD)/fixtures/stripped/%: $(BUILD)/fixtures/O2/% tests/split-debug.sh
	@mkdir -p $(@D)
	$(call quiet,STRIP,$@)sh tests/split-debug.sh $< $@ $(BUILD)/fixtures/stripped/debug

$(foreach v,$(fixture_variants) stripped,$(eval \
	$(BUILD)/fixtures/$(v)/thread-library: | $(BUILD)/fixtures/$(v)/lib/current.so))

.PHONY: fixtures
fixtures: $(fixture_programs) ## build the programs that the tests inspect

# The program that is looked at in gdb.
$(BUILD)/tests/gdb/target: tests/gdb/target.c $(fixture_headers) $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,FIXTURE,$@)$(CC) $(fixture_cflags) -Ifixtures -O0 -g -o $@ $<

.PHONY: run-fixtures check-fixtures
check-fixtures: all fixtures $(tool_programs) ## compare what the fixtures plant with what is found
	@$(MAKE) --no-print-directory run-fixtures
run-fixtures:
	@sh tests/fixture-per-code.sh
	@bash tests/run-fixtures --self-test $(BUILD)
	@bash tests/run-fixtures $(BUILD) $(FIXTURES)

# ---- demonstration ----------------------------------------------------------

# As many at a time as there are processors, unless the user said how many.
jobs = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 2))

.PHONY: demo
demo: setup-build ## install what is missing, build, inspect the core file of a sample program
	@$(MAKE) --no-print-directory $(jobs) all $(BUILD)/fixtures/O0/demo
	@sh tests/demo.sh $(BUILD)

# ---- tests ------------------------------------------------------------------

# Steps of `make check`, in order: NAME=COMMAND, see tests/check.sh.
check_steps = \
	'headers=CC="$(CC)" sh tests/check-headers.sh $(ri_cflags)' \
	'floors=sh tests/check-floors.sh $(BUILD)' \
	'refobj=sh tests/refobj_languages.sh $(BUILD)' \
	'unit=$(MAKE) --no-print-directory run-unit BUILD=$(BUILD)' \
	'fixtures=$(MAKE) --no-print-directory run-fixtures BUILD=$(BUILD)' \
	'lost-checks=bash tests/lost-checks.sh $(BUILD)' \
	'answers=bash tests/answers.sh $(BUILD)' \
	'gdb=bash tests/run-gdb $(BUILD)' \
	'bad-input=bash tests/bad-input.sh $(BUILD)' \
	'corrupt=bash tests/corrupt.sh $(BUILD)' \
	'hostile=CC="$(CC)" bash tests/hostile.sh $(BUILD)' \
	'fuzz=bash tests/fuzz.sh $(BUILD) 0' \
	'dwarf=bash tests/run-dwarf $(BUILD)' \
	'lies=CC="$(CC)" bash tests/lies.sh $(BUILD)' \
	'memory=CC="$(CC)" bash tests/run-memory $(BUILD)' \
	'allocators=CC="$(CC)" bash tests/run-allocators $(BUILD)' \
	'commands=bash tests/run-commands $(BUILD)' \
	'prompt=bash tests/run-prompt $(BUILD)' \
	'install=bash tests/install.sh $(BUILD)' \
	'workload=bash tests/workload.sh $(BUILD)' \
	'cpython=bash tests/run-cpython $(BUILD)' \
	'cpython-mutate=bash tests/run-cpython --mutate $(BUILD)' \
	'mutate=bash tests/mutate.sh $(BUILD)' \
	'nasty=CC="$(CC)" bash tests/run-nasty $(BUILD)' \
	'bare=CC="$(CC)" bash tests/run-bare --seeds=1-20 $(BUILD)' \
	'real=bash tests/run-real $(BUILD) shared_ptr'

.PHONY: check-bare
check-bare: all $(tool_programs) ## look at fifty random programs without a profile
	@CC="$(CC)" bash tests/run-bare $(BUILD)

.PHONY: check-real
check-real: all $(tool_programs) ## build GLib, redis and two daemons from Debian's source, and look at them
	@bash tests/run-real $(BUILD) gobject redis pulseaudio bind

.PHONY: setup-build setup-check
setup-build: ## install the Debian packages that the build needs
	@sh tests/setup.sh build
setup-check: ## install the Debian packages that the tests need
	@sh tests/setup.sh check $(BUILD)

.PHONY: check
check: setup-check ## install what is missing, build, and run every test
	@$(MAKE) --no-print-directory $(jobs) build-check
	@$(MAKE) --no-print-directory run-check

.PHONY: build-check run-check
build-check: all $(unit_programs) $(tool_programs) $(fuzz_programs) $(mutate) fixtures $(BUILD)/tests/gdb/target $(manual)
run-check:
	@sh tests/check.sh $(BUILD)/check $(check_steps)

.PHONY: build-unit check-unit
build-unit: $(unit_programs) $(tool_programs)
check-unit: build-unit ## run the unit tests and count them
	@sh tests/check.sh $(BUILD)/check \
		'unit=$(MAKE) --no-print-directory run-unit BUILD=$(BUILD)'

.PHONY: unit run-unit
unit: build-unit ## build and run the unit tests
	@$(MAKE) --no-print-directory run-unit
run-unit:
	@failed=; for t in $(unit_programs); do \
		echo "  TEST    $$t"; ./$$t || failed="$$failed $$t"; done; \
	[ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

# A build of its own, with the sanitizers; fixtures and tools belong to it.
LEAKS_BUILD ?= $(BUILD)-asan
.PHONY: check-leaks build-leaks
check-leaks: ## see with sanitizers that the tool leaks nothing, whatever it reads
	@$(MAKE) --no-print-directory $(jobs) build-leaks BUILD=$(LEAKS_BUILD) \
		SANITIZE=address,undefined
	@sh tests/check.sh $(LEAKS_BUILD)/check 'leaks=bash tests/leaks.sh $(LEAKS_BUILD)'
build-leaks: all $(tool_programs) $(fixture_names:%=$(BUILD)/fixtures/O2/%)

# A build of its own, with clang's libFuzzer.
FUZZ_SECONDS ?= 60
FUZZ_BUILD ?= $(BUILD)-fuzz
.PHONY: check-fuzz build-fuzz
check-fuzz: ## fuzz the parsers for FUZZ_SECONDS (default 60)
	@$(MAKE) --no-print-directory $(jobs) build-fuzz CC=clang BUILD=$(FUZZ_BUILD) \
		SANITIZE=address,undefined,fuzzer-no-link
	@sh tests/check.sh $(FUZZ_BUILD)/check 'fuzz=bash tests/fuzz.sh $(FUZZ_BUILD) $(FUZZ_SECONDS)'
fuzz_seeds := surplus nested plain-cycle heap-damage
build-fuzz: $(fuzz_programs) $(BUILD)/tests/tools/coremaker \
	$(foreach v,O0 O2,$(fuzz_seeds:%=$(BUILD)/fixtures/$(v)/%))

# BIG=1: ten million objects too (5 GB of memory, 2 GB of disk).  DWARF=FILE: instead, what the
# debug information of a large program costs; STRUCT=NAME: and one struct of it in gdb.
.PHONY: bench
bench: all $(BUILD)/fixtures/O2/perf_target $(tool_programs) ## time the audit of large cores
ifdef DWARF
	@bash tests/bench-dwarf.sh $(BUILD) $(DWARF) $(STRUCT)
else
	@bash tests/workload.sh $(BUILD) 1000000
	@bash tests/bench.sh $(BUILD) 100000 1000000:gdb 1000000+1300 $(if $(BIG),10000000:find)
endif

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BUILD)

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort | expand -t 14

# ---- installation -----------------------------------------------------------

$(BUILD)/docs/manual: $(BUILD)/docs/manual.o $(BUILD)/librefinspect.a
	$(call quiet,LD,$@)$(CC) $(CFLAGS) $(ri_ldflags) $(LDFLAGS) -o $@ $^ $(ri_libs)
$(manual): $(BUILD)/docs/manual
	$(call quiet,GEN,$@)./$< >$@.tmp && mv $@.tmp $@

.PHONY: manual
manual: $(manual) ## make the manual page

docs := $(sort $(wildcard docs/*.md))
prefix = $(DESTDIR)$(PREFIX)
own_folders = $(prefix)/share/refinspect $(prefix)/share/doc/refinspect
install_files = \
	$(prefix)/bin/refinspect \
	$(prefix)/include/refobj.h \
	$(prefix)/share/refinspect/refcheck.gdb \
	$(prefix)/share/man/man1/refinspect.1 \
	$(docs:docs/%=$(prefix)/share/doc/refinspect/%)

.PHONY: install
install: all $(manual) ## install below $(DESTDIR)$(PREFIX)
	install -D -m 755 $(BUILD)/refinspect $(prefix)/bin/refinspect
	install -D -m 644 include/refobj.h $(prefix)/include/refobj.h
	install -D -m 644 gdbplugin/refcheck.gdb $(prefix)/share/refinspect/refcheck.gdb
	install -D -m 644 $(manual) $(prefix)/share/man/man1/refinspect.1
	install -d $(prefix)/share/doc/refinspect
	install -m 644 $(docs) $(prefix)/share/doc/refinspect

.PHONY: uninstall
uninstall: ## remove what `make install` put there
	rm -f $(install_files)
	@for d in $(own_folders); do \
		[ ! -d $$d ] || rmdir --ignore-fail-on-non-empty $$d; done

# (what check-real builds below $(BUILD)/real is not ours)
-include $(shell [ -d $(BUILD) ] && find $(BUILD) -path $(BUILD)/real -prune -o -name '*.d' -type f -print)
