# `make run`: build Zonda and serve the root zone.  `make test`: install what the tests need, run all of them.

CARGO ?= cargo
FUZZ_SECONDS ?= 60
# The program under test.
ZONDA ?= $(abspath $(or $(CARGO_TARGET_DIR),target))/debug/zonda

.PHONY: run test check unit differential fuzz

run:
	$(CARGO) run --release --package zonda -- serve

test: setup check unit fuzz

.PHONY: setup
setup:
	tests/setup.sh

# Form and lints of everything.
check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings

# All tests: units, properties, scenarios, conformance, hostile input, comparison with the other servers.
# The program first, as the tests that run it use this build.
unit:
	$(CARGO) build --workspace --bins
	ZONDA="$(ZONDA)" $(CARGO) test --workspace

# Every query instead of a sample: some ten minutes.
differential:
	ZONDA_DIFFERENTIAL=full $(CARGO) test --package zonda-tests --test differential -- --nocapture

# The stress tests of `sync` under the thread sanitizer; builds the standard library with it first.
.PHONY: tsan
tsan:
	crates/sync/tsan

# Two at a time: each uses one core, and is built while another runs.
FUZZ_GOALS = fuzz-message fuzz-zonefile fuzz-pack fuzz-trace fuzz-tsig
.PHONY: $(FUZZ_GOALS)

fuzz:
	$(MAKE) --jobs=2 --output-sync=target $(FUZZ_GOALS)

$(FUZZ_GOALS): fuzz-%:
	fuzz/run $* $(FUZZ_SECONDS)
