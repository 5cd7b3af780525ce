# `make run`: build Zonda and serve the root zone.  `make test`: install what the tests need, run all but the long ones.

CARGO ?= cargo
# How long each fuzz target looks for new inputs: here, and in `make test`.
FUZZ_SECONDS ?= 60
FUZZ_SECONDS_OF_TEST = 10
# The program under test.
ZONDA ?= $(abspath $(or $(CARGO_TARGET_DIR),target))/debug/zonda
# A missing program or right is a failure, as one that leaves out what it cannot run has shown nothing. `make test MISSING=skip`
# leaves it out, and so does `cargo test` without `CI`.
MISSING ?= fail
STRICT = $(if $(filter skip,$(MISSING)),env -u CI,CI=true)

.PHONY: run test check unit differential fuzz

run:
	$(CARGO) run --release --package zonda -- serve

# The gate.
test: setup form unit
	$(MAKE) fuzz FUZZ_SECONDS=$(FUZZ_SECONDS_OF_TEST)

.PHONY: setup
setup:
	tests/setup.sh

.PHONY: form
form:
	$(CARGO) fmt --all --check

# Form and lints alone, while working.
check: form
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings

# Lints and tests from one build: clippy is a whole compiler, and what it has looked at can be run. Crates of others are
# neither looked at nor built twice. Without the files for incremental builds and without line tables, which cost time: panics say where they
# are all the same.
LINTED = RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings CARGO_INCREMENTAL=0 \
    CARGO_PROFILE_DEV_DEBUG=false

# Lints, and all tests but the long ones: units, properties, scenarios, conformance, hostile input, comparison with the other servers.
unit:
	ZONDA="$(ZONDA)" $(STRICT) $(LINTED) $(CARGO) test --workspace --all-targets
	$(LINTED) $(CARGO) test --workspace --doc

# Those that take long and seldom find anything: all fault models, fits, self-checks of all recipes. They are ignored tests of
# modules called `long`; of each kind a quick one is in `make test`.
.PHONY: test-long
test-long: setup
	ZONDA="$(ZONDA)" $(STRICT) $(LINTED) $(CARGO) test --workspace --no-fail-fast -- --ignored long::

# Every query instead of a sample: some ten minutes.
differential:
	ZONDA_DIFFERENTIAL=full $(CARGO) test --package zonda-tests --test differential -- --nocapture

# The stress tests of `sync` under the thread sanitizer; builds the standard library with it first.
.PHONY: tsan
tsan:
	crates/sync/tsan

# Kept inputs, then new ones. Two targets at a time: each uses one core.
FUZZ_GOALS = fuzz-message fuzz-zonefile fuzz-pack fuzz-trace fuzz-tsig fuzz-message-layer
.PHONY: $(FUZZ_GOALS)

fuzz:
	fuzz/run
	$(MAKE) --jobs=2 --output-sync=target $(FUZZ_GOALS)

$(FUZZ_GOALS): fuzz-%:
	fuzz/run $* $(FUZZ_SECONDS)
