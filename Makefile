# SPDX-License-Identifier: MIT
# Thin: names for the CMake presets, and the packages each target needs. `make help` lists the targets.
#
# Variables: V=1 shows commands. JOBS=N compiles N files at a time, TEST_JOBS=N runs N tests. PREFIX, DESTDIR say where to
# install.

PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# Most tests wait more than they compute.
TEST_JOBS ?= $(shell expr 2 \* $(JOBS))
V ?=

Q := $(if $(V),,@)
BUILD = env -u MAKELEVEL cmake --build --preset $(1) --parallel $(JOBS) $(if $(V),--verbose) $(if $(2),--target $(2))
CONFIGURE = cmake --preset $(1) $(if $(V),,>/dev/null)
DEPS = toolchains/install-deps
SOURCES = $(shell find include mpr test examples toolchains \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.hpp' \))

# The recipes share build folders, and start a make of their own with its own -j: this make runs one at a time and does
# not hand its job server (nor, for quiet, its level) down.
.NOTPARALLEL:
unexport MAKEFLAGS MFLAGS
.PHONY: all lib demo built test one soak cross smoke metal boards bench bench-gc bench-host bench-http bench-broker doc check check-flaky check-release check-format check-abi check-second check-tidy fmt clean install uninstall deps help

all: lib

## lib        build/release/libmpr.a, libmpr_core.a, libmpr.so, libmpr_http.a, libmpr_tls.a, libmpr_tls.so (also: make)
lib:
	$(Q)$(DEPS) build
	$(Q)$(call CONFIGURE,release)
	$(Q)$(call BUILD,release,mpr mpr_core mpr_shared mpr_http mpr_tls mpr_tls_shared)

## demo       build the example service and let it show itself
demo:
	$(Q)$(DEPS) build demo
	$(Q)$(call CONFIGURE,release)
	$(Q)$(call BUILD,release,example_service)
	$(Q)build/release/examples/service --demo

## built      build everything that `make test` runs
built:
	$(Q)$(DEPS) build test demo
	$(Q)$(call CONFIGURE,release)
	$(Q)$(call BUILD,release)

## test       build everything and run all tests
test: built
	$(Q)ctest --preset release --parallel $(TEST_JOBS)

## one        build and run the tests of one room, or some of them: make one ROOM=gc CASE='[batch]'
ROOM ?=
CASE ?=
one:
	$(Q)$(DEPS) build test
	$(Q)$(call CONFIGURE,release)
	$(Q)$(call BUILD,release,test_$(ROOM))
	$(Q)cd build/release && test/test_$(ROOM) $(if $(CASE),'$(CASE)')

## soak       random threads for a minute, 100,000 waits, 10,000 commands, then random programs for SECONDS=60; SEED=N for other ones
# PRESET=tsan, asan, ubsan, debug or delays: random programs alone, in that build. PROFILE=NAME: one kind of them.
SEED ?= 100
SECONDS ?= 60
PRESET ?= release
PROFILE ?=
soak:
	$(Q)$(DEPS) build test demo
	$(Q)$(call CONFIGURE,$(PRESET))
	$(Q)$(call BUILD,$(PRESET),$(if $(filter release,$(PRESET)),test_gc test_stress test_task test_io) test_oracle)
ifeq ($(PRESET),release)
	$(Q)build/release/test/test_gc '[soak]'
	$(Q)MPR_SEED=$(SEED) build/release/test/test_stress '[soak]'
	$(Q)build/release/test/test_task '[soak]'
	$(Q)build/release/test/test_io '[soak]'
endif
	$(Q)$(if $(filter tsan,$(PRESET)),$(TSAN_RUN)) build/$(PRESET)/test/oracle --seconds $(SECONDS) \
	    $(if $(filter-out file,$(origin SEED)),--seed $(SEED)) $(PROFILE:%=--profile %)

## check      format; API reference; ABI; the tests by a second compiler and under three sanitizers; static analysis
check: check-format doc check-abi check-clang check-asan check-ubsan check-tsan check-tidy

## check-flaky  each test ROUNDS=100 times, idle and beside two busy programs; R=REGEX narrows it
ROUNDS ?= 100
R ?= .
check-flaky: built
	$(Q)test/repeat -n $(ROUNDS) -R '$(R)'

## check-release  hours, before a version: all targets, compilers, sanitizers, fuzzers, random programs; PART=NAME for one
PART ?=
check-release:
	$(Q)$(DEPS) build test demo check doc metal cross consumers
	$(Q)JOBS=$(JOBS) test/release $(PART)

## check-delays  the tests with threads delayed at random at each atomic operation; MPR_SEED=N, MPR_DELAYS=N

# The thread sanitizer of GCC 12 does not start under kernels that randomise more address bits than it knows of.
STEADY = $$(setarch -R true 2>/dev/null && echo setarch -R)
TSAN_RUN = TSAN_OPTIONS='halt_on_error=1 second_deadlock_stack=1' $(STEADY)
check-%:
	$(Q)$(DEPS) build test demo check
	$(Q)$(call CONFIGURE,$*)
	$(Q)$(call BUILD,$*)
	$(Q)$(if $(filter tsan,$*),$(STEADY)) ctest --preset $* --parallel $(JOBS)

check-format:
	$(Q)$(DEPS) check
	$(Q)clang-format --dry-run -Werror $(SOURCES)

## check-abi  a program built with the headers of toolchains/abi runs with this library; UPDATE=1 accepts what changed
check-abi:
	$(Q)$(DEPS) build check
	$(Q)$(call CONFIGURE,debug)
	$(Q)$(call BUILD,debug,mpr_shared mpr_tls_shared)
	$(Q)toolchains/abi/check build/debug/libmpr.so $(if $(UPDATE),--update)
	$(Q)toolchains/abi/check build/debug/libmpr_tls.so $(if $(UPDATE),--update)

# What the second compiler alone finds: who holds which lock, names that hide others, and a build without threads.
check-second:
	$(Q)$(DEPS) build test demo check
	$(Q)$(call CONFIGURE,clang)
	$(Q)$(call BUILD,clang,mpr mpr_http mpr_tls mpr_core_board)

check-tidy:
	$(Q)$(DEPS) build test demo check
	$(Q)$(call CONFIGURE,clang)
	$(Q)run-clang-tidy -quiet -j $(JOBS) -p build/clang '$(CURDIR)/mpr/.*\.cpp$$'

## cross      build and test for other processors under qemu-user; TARGET=armhf for one, RUNS=N to repeat
TARGET ?=
RUNS ?= 1
cross:
	$(Q)$(DEPS) build $(if $(TARGET),$(TARGET:%=cross-%),cross)
	$(Q)JOBS=$(JOBS) toolchains/cross $(RUNS) $(TARGET)

## smoke      for each commit: the library and the tests tagged [port], for other processors; TARGET=armhf for one
smoke:
	$(Q)$(DEPS) build $(if $(TARGET),$(TARGET:%=cross-%),cross)
	$(Q)JOBS=$(JOBS) toolchains/cross --smoke $(TARGET)

## metal      build and test for Cortex-M without an operating system under qemu-system; TARGET=cortex-m3 for one
metal:
	$(Q)$(DEPS) build metal
	$(Q)JOBS=$(JOBS) toolchains/metal/check $(TARGET)

## boards     Linux on simulated boards: the tests and the demo, short of memory; TARGET=armhf for one
boards:
	$(Q)$(DEPS) build boards
	$(Q)JOBS=$(JOBS) toolchains/boards $(TARGET)

## bench      every figure: the benchmarks, peers beside them
bench:
	$(Q)$(DEPS) build bench
	$(Q)$(call CONFIGURE,bench)
	$(Q)$(call BUILD,bench)
	$(Q)test/bench/run build/bench

## bench-gc   what the collector costs its threads, beside malloc and free
bench-gc:
	$(Q)$(DEPS) build bench
	$(Q)$(call CONFIGURE,bench)
	$(Q)$(call BUILD,bench)
	$(Q)test/bench/run-gc build/bench

## bench-host  what handles, pinned blocks, private heaps and the monitor of suspensions cost
bench-host:
	$(Q)$(DEPS) build bench
	$(Q)$(call CONFIGURE,bench)
	$(Q)$(call BUILD,bench)
	$(Q)test/bench/run-host build/bench

## bench-http  what a request, a connection, a slow reader costs mpr::http, beside other servers; QUICK=1: in three minutes
bench-http:
	$(Q)$(DEPS) build bench bench-http
	$(Q)$(call CONFIGURE,bench)
	$(Q)$(call BUILD,bench)
	$(Q)test/bench/run-http $(if $(QUICK),--quick) build/bench

## bench-broker  what a delivery and a retained message cost examples/broker, beside the same without mpr, and mosquitto
bench-broker:
	$(Q)$(DEPS) build bench bench-broker
	$(Q)$(call CONFIGURE,bench)
	$(Q)$(call BUILD,bench)
	$(Q)test/bench/run-broker build/bench

## doc        build/doc/index.html: the API reference, from the headers
doc:
	$(Q)$(DEPS) doc
	$(Q)rm -rf build/doc && mkdir -p build/doc
	$(Q)MPR_VERSION=$$(sed -n 's/^#define MPR_VERSION_[A-Z]* \([0-9]*\)$$/\1/p' include/mpr/version.h | paste -s -d .) \
	    doxygen toolchains/Doxyfile

## fmt        format all sources in place
fmt:
	$(Q)$(DEPS) check
	$(Q)clang-format -i $(SOURCES)

## install    headers, libraries, CMake package, mpr.pc (PREFIX=/usr/local DESTDIR=)
install: lib
	$(Q)DESTDIR='$(DESTDIR)' cmake --install build/release --prefix '$(PREFIX)'
ifeq ($(DESTDIR),)
	$(Q)[ "$$(id -u)" != 0 ] || ! command -v ldconfig >/dev/null || ldconfig
	@echo 'Installed. In C:   cc first.c $$(pkg-config --cflags --libs mpr) -o first'
	@echo '           In C++: c++ -std=c++20 first.cpp $$(pkg-config --cflags --libs mpr) -o first'
	@case ' /usr /usr/local ' in *' $(PREFIX) '*) ;; *) echo 'pkg-config finds it with PKG_CONFIG_PATH=$(PREFIX)/lib/pkgconfig,' \
	    'the program its library with LD_LIBRARY_PATH=$(PREFIX)/lib' ;; esac
endif

## uninstall  remove what install with the same PREFIX and DESTDIR put there
# A trial installation names the files, so that neither an old manifest nor a cleaned build can mislead.
uninstall: lib
	$(Q)rm -rf build/trial
	$(Q)DESTDIR='$(CURDIR)/build/trial' cmake --install build/release --prefix '$(PREFIX)' >/dev/null
	$(Q)cd build/trial && find . ! -type d | while read -r file; do rm -fv '$(DESTDIR)'"$${file#.}"; done
	$(Q)cd build/trial && find . -depth -type d \( -path '*/mpr' -o -path '*/mpr/*' \) | \
	    while read -r dir; do rmdir --ignore-fail-on-non-empty '$(DESTDIR)'"$${dir#.}"; done
	$(Q)rm -rf build/trial

## deps       install the Debian packages that lib, demo and test need
deps:
	$(Q)$(DEPS) build test demo

## clean      remove build/
clean:
	$(Q)rm -rf build

## help       this list
help:
	@sed -n 's/^## /  make /p' Makefile
