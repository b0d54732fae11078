# The doors for people: each target is complete on a fresh Debian machine. The build itself is CMake's (CMakeLists.txt,
# CMakePresets.json); plain `cmake -S . -B build -G Ninja && cmake --build build` works too.
#   make demo      install what is missing, build, analyse an example
#   make test      the same set-up, then every test        (WERROR=1: warnings are errors)
#   make asan      the unit tests under ASan and UBSan, with clang
#   make browser   the HTML report in headless Chromium, which it installs
#   make conformance  what we emit and ship, judged by others' validators (PyPI)
#   make bench     benchmarks: the parts, then whole runs
#   make fuzz      every fuzz target for its share of FUZZ_SECONDS (1800: ten minutes each)
#   make corpus    `inspect` over the CUDA libraries of this machine, held against a plain search of their PTX
#   make registers the register estimate against ptxas: known answers, examples, a sample of the CUDA libraries
#   make accuracy  every figure of docs/accuracy.md against ../shared/measurements (FLIPFLOP_SHARED); make paper: the paper's two
#   make format    clang-format over our sources; make tidy: clang-tidy
#   make install   PREFIX=/usr/local;  make package: a Debian package

SHELL := /bin/bash
JOBS ?= $(shell nproc)
WERROR ?= 0
FUZZ_SECONDS ?= 1800
PREFIX ?= /usr/local

on_off = $(if $(filter 1 yes on ON,$(1)),ON,OFF)
launcher = $(if $(shell command -v ccache),-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
sources = $(shell git ls-files '*.cpp' '*.hpp')

.DEFAULT_GOAL := demo
.PHONY: demo test asan accuracy paper browser conformance bench fuzz corpus registers format tidy install package clean setup-build setup-test

setup-build:
	@tools/install_packages.sh build
setup-test:
	@tools/install_packages.sh build test

demo: setup-build
	@cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release $(launcher) >/dev/null
	@cmake --build build -j $(JOBS) --target flipflop
	@tools/demo.sh build/flipflop

test: setup-test
	@cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DFLIPFLOP_TESTS=ON -DFLIPFLOP_WERROR=$(call on_off,$(WERROR)) $(launcher) >/dev/null
	@cmake --build build -j $(JOBS) -- -k 0
	@tools/run_tests.sh build $(JOBS)

# Where clang-19 cannot be had, g++ has the same two sanitizers.
asan: setup-test
	@if tools/install_packages.sh sanitize; then \
	    cmake --preset asan-ubsan -DFLIPFLOP_WERROR=$(call on_off,$(WERROR)) $(launcher) >/dev/null; \
	else \
	    echo "note: no clang-19; the sanitizers of g++ are used"; \
	    cmake -S . -B build-asan -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" -DFLIPFLOP_SANITIZE=address,undefined \
	        -DFLIPFLOP_WERROR=$(call on_off,$(WERROR)) $(launcher) >/dev/null; \
	fi
	@cmake --build build-asan -j $(JOBS) -- -k 0
	@tools/run_tests.sh build-asan $(JOBS) -L unit

browser: setup-test
	@tools/install_packages.sh browser
	@cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DFLIPFLOP_TESTS=ON $(launcher) >/dev/null
	@cmake --build build -j $(JOBS) --target flipflop
	@ctest --test-dir build -L browser --output-on-failure --no-tests=error

conformance:
	@tools/conformance.sh build/flipflop

bench:
	@tools/install_packages.sh build bench
	@cmake -S . -B build-bench -G Ninja -DCMAKE_BUILD_TYPE=Release -DFLIPFLOP_TESTS=OFF -DFLIPFLOP_BENCH=ON $(launcher) >/dev/null
	@cmake --build build-bench -j $(JOBS)
	@for program in build-bench/bench/*_bench; do [ ! -x "$$program" ] || "$$program" --benchmark_color=false || exit 1; done
	@python3 tools/bench_runs.py build-bench/flipflop examples

fuzz:
	@tools/install_packages.sh build sanitize
	@cmake --preset fuzz $(launcher) >/dev/null
	@cmake --build build-fuzz -j $(JOBS) --target fuzz_targets
	@tools/run_fuzz.sh build-fuzz $(FUZZ_SECONDS)

corpus: setup-build
	@cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release $(launcher) >/dev/null
	@cmake --build build -j $(JOBS) --target flipflop print_check
	@python3 tools/corpus.py build/flipflop --print-check build/print_check

registers: setup-build
	@cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release $(launcher) >/dev/null
	@cmake --build build -j $(JOBS) --target register_driver
	@python3 tools/registers.py build/register_driver

# Skipped, with its reason, where there are no measurements or nothing that compiles CUDA.
accuracy paper: setup-build
	@cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release $(launcher) >/dev/null
	@cmake --build build -j $(JOBS) --target flipflop
	@python3 tools/accuracy $(if $(filter paper,$@),--paper,--evaluate --write) || [ $$? -eq 77 ]

format:
	clang-format-19 -i $(sources)
tidy:
	cmake --preset dev >/dev/null && clang-tidy-19 -p build-dev --quiet $(filter-out tests/%,$(filter %.cpp,$(sources)))

install: setup-build
	@cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release $(launcher) >/dev/null
	@cmake --build build -j $(JOBS) --target flipflop
	cmake --install build --prefix $(PREFIX)
package: setup-build
	@cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr $(launcher) >/dev/null
	@cmake --build build -j $(JOBS)
	cd build && cpack -G DEB

clean:
	rm -rf build build-asan build-bench build-dev build-fuzz
