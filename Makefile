# SPDX-License-Identifier: Apache-2.0
# A thin front for Meson: every target makes the build folders it needs, and tools/setup installs
# what is missing before anything else. The folders:
#   build           gcc, release: the program is build/sluice
#   build-asan      gcc, address and undefined-behaviour sanitisers
#   build-clang     clang, no optimisation: its warnings, and decisions to compare
#   build-fuzz      clang with libFuzzer
#   build-uninit    gcc, automatic variables left as they are, for valgrind
#   build-coverage  gcc with line counts

# Random cases per property test, in the release build and in the others.
SEEDS ?= 1000
SLOW_SEEDS ?= 100
# Which fuzz targets run, all by default, and for how long each.
FUZZ_SECONDS ?= 60
FUZZ ?=
# Inputs that the structural mutator makes of all corpora together, and where it begins.
MUTATIONS ?= 1000000
MUTATION_SEED ?= 1

.PHONY: all run check check-operators e2e kube operators lint fuzz fuzz-structural uninit histories bench \
	bench-backfill bench-flux bench-kinds bench-kueue bench-pods bench-pools bench-up soak coverage tidy format clean \
	setup setup-build setup-lint

all: build/build.ninja
	@ninja -C build --quiet sluice >&2

# A cluster on this machine, a queue and a job in it, through kubectl.
run: all
	@tools/demo build/sluice

# A real control plane to test against, built once; without Go its tests are skipped and counted.
kube:
	@tests/e2e/kube/build >/dev/null || [ $$? -eq 77 ]

# The operators that `make check` runs, each built once from its module; without Go their tests are skipped and counted.
operators:
	@tests/e2e/kube/build operators >/dev/null || [ $$? -eq 77 ]

# What needs no build comes first: if it fails, nothing is compiled. Tests that wait run beside the other builds.
# Everything runs sanitised. Of the rest, clang's build is for its warnings, its digests without optimisation and
# MemorySanitizer, and the release, the program that is shipped, for what says something else there (see
# tests/meson.build).
check: setup
	@tools/run-tests tools/lint make:kube make:operators SL_SEEDS=$(SEEDS) beside:build:waits \
		SL_SEEDS=$(SLOW_SEEDS) build-asan objects:build-clang build-clang:digest,layers \
		SL_SEEDS=$(SEEDS) build:-waits,unit,kubelet,fuzz,cli

# Everything that runs the program against or as a control plane, also what takes too long for `make check`.
# The ledger is tried with 2,000 jobs there, with 200 in `make check`.
e2e: setup
	@SL_LEDGER_JOBS=$${SL_LEDGER_JOBS:-2000} tools/run-tests make:kube make:operators build:kube,up

# All real operators, on a control plane and on sluice up: some quarter of an hour to build, once, and minutes to run.
check-operators: all
	@tests/e2e/kube/build >/dev/null && tests/e2e/kube/build all-operators >/dev/null
	@SL_OPERATORS=all tests/e2e/run kube/test_operators.py kube/test_miniclusters.py up/test_hosted.py

fuzz: setup build-fuzz/build.ninja
	@ninja -C build-fuzz --quiet >&2
	@tools/run-fuzz build-fuzz $(FUZZ_SECONDS) $(FUZZ)

# The structural mutator of fuzz/ over all corpora in the sanitised build, without libFuzzer.
fuzz-structural: setup build-asan/build.ninja
	@ninja -C build-asan --quiet >&2
	@tools/run-mutations build-asan $(MUTATIONS) $(MUTATION_SEED) $(FUZZ)

# Reads of what was never written: MemorySanitizer over the pure libraries, valgrind over the rest.
uninit: setup build-uninit/build.ninja
	@ninja -C build-uninit --quiet >&2
	@tools/check-uninit msan build-uninit/msan $(SLOW_SEEDS)
	@tools/check-uninit valgrind build-uninit

# Histories of the manager, the embedded controllers and the store under seeded faults, thousands of each.
histories: build/build.ninja
	@ninja -C build --quiet >&2
	@tools/run-histories build

# What takes longer than `make check` may: a million objects that come and go, and memory stays flat; and the
# largest objects, with everything in them, in the sanitised build.
soak: build/build.ninja build-asan/build.ninja
	@ninja -C build --quiet tests/manager/faults/soak tests/e2e/up/soak >&2
	@build/tests/manager/faults/soak --objects 1000000
	@build/tests/e2e/up/soak --objects 1000000 --verbose
	@tools/run-tests build-asan:long

bench: build/build.ninja
	@ninja -C build --quiet >&2
	@for program in build/bench/bench_*; do \
		if [ -f $$program ]; then $$program || exit 1; fi; \
	done

# A trace of 2,000 jobs on a real control plane under each queue policy, beside the simulator: most of an hour.
bench-backfill: all
	@SL_BACKFILL=$${SL_BACKFILL:-2000} tests/e2e/run kube/test_backfill.py

# The scheduler on the resource graph beside kube-scheduler, and sluice up with 10,000 nodes: minutes. See the head of
# bench/flux/run.
bench-flux: all
	@bench/flux/run

# Hundreds of MiniClusters through one queue while Sluice is killed, beside Jobs: minutes. See the head of
# bench/kinds/run.
bench-kinds: all
	@bench/kinds/run

# Kueue itself beside Sluice, under the load of Kueue's own runner: minutes. See the head of bench/kueue/run.
bench-kueue: all
	@bench/kueue/run

# Pods through a queue on a real control plane, against a bare client that makes the same writes: minutes.
bench-pods: all
	@ninja -C build --quiet tests/e2e/kube/barewrite >&2
	@SL_PODLOAD=$${SL_PODLOAD:-5000} tests/e2e/run kube/test_podload.py

# A thousand resource pools that publish every second over a real nats-server: minutes. See the head of bench/pools/run.
bench-pools: all
	@bench/pools/run

# sluice up: how quick and how small, and beside a Kubernetes control plane: minutes. See the head of bench/up/run.
bench-up: all
	@bench/up/run

coverage: setup build-coverage/build.ninja
	@find build-coverage -name '*.gcda' -delete
	@tools/run-tests SL_SEEDS=$(SLOW_SEEDS) build-coverage
	@gcovr --root . --filter src/core/engine/ --fail-under-line 90 --print-summary build-coverage

# The checks that need no build; what did not change since is not looked at again.
lint: setup-lint
	@tools/lint

tidy: setup build-clang/build.ninja
	@ninja -C build-clang --quiet >&2
	@run-clang-tidy -quiet -p build-clang '/(src|tests|fuzz|bench)/' >build-clang/tidy.log 2>&1 || \
		{ grep -E 'warning:|error:' build-clang/tidy.log | sort -u; \
		echo "All of it is in build-clang/tidy.log."; exit 1; }

format: setup-lint
	@tools/lint --format

clean:
	@rm -rf build build-*/

setup:
	@tools/setup

setup-build:
	@tools/setup build

setup-lint:
	@tools/setup lint

# Compiling is most of what a sanitised build costs: -Og takes a third less of it than -O1.
build-asan/build.ninja: OPTIONS = -Db_sanitize=address,undefined -Doptimization=g
build-clang/build.ninja: COMPILER = clang
build-clang/build.ninja: OPTIONS = -Doptimization=0 -Ddebug=false
build-fuzz/build.ninja: COMPILER = clang
build-fuzz/build.ninja: OPTIONS = -Dfuzzing=true -Db_sanitize=address,undefined -Db_lundef=false
build-uninit/build.ninja: OPTIONS = -Duninit=true -Doptimization=1
build-coverage/build.ninja: OPTIONS = -Db_coverage=true -Doptimization=0

# Meson keeps a folder up to date by itself; this makes it once. What an interrupted attempt left
# would make Meson believe that it is done.
# A compiler cache is used where there is one: tools/setup installs ccache.
COMPILER = gcc
OPTIONS =
%/build.ninja: | setup-build
	@rm -rf $(@D)
	@CC="$$(command -v ccache) $(COMPILER)" meson setup $(@D) $(OPTIONS) >$(@D).log 2>&1 || \
		{ cat $(@D).log; exit 1; }
	@mv $(@D).log $(@D)/meson-logs/setup.log
