# `make run`: build Zonda and serve the root zone.  `make test`: install what the tests need, run all but the long ones.
# `make`, then `make install` as root: the program, its pages, a unit for systemd (docs/manual/src/install.md). `make`, then `make deb`:
# the same as a package for Debian.

CARGO ?= cargo
# How long each fuzz target looks for new inputs: here, and in `make test`.
FUZZ_SECONDS ?= 60
FUZZ_SECONDS_OF_TEST = 1
# The program under test.
ZONDA ?= $(abspath $(or $(CARGO_TARGET_DIR),target))/debug/zonda
# A missing program or right is a failure, as one that leaves out what it cannot run has shown nothing. `make test MISSING=skip`
# leaves it out, and so does `cargo test` without `CI`.
MISSING ?= fail
STRICT = $(if $(filter skip,$(MISSING)),env -u CI,CI=true)

.PHONY: build run test check unit differential fuzz

build:
	$(CARGO) build --release --locked --package zonda

run:
	$(CARGO) run --release --package zonda -- serve

# The gate. The fuzz targets are built beside the tests, many of which wait, from what these leave of the processors: as the idle
# class, which comes behind the lowest priority too.
test: setup form
	chrt --idle 0 fuzz/run & $(MAKE) unit; result=$$?; wait $$! && exit $$result
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
# are all the same. Few parts a crate, as what they share is compiled in each; many help who builds again after a change.
LINTED = RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings CARGO_INCREMENTAL=0 \
    CARGO_PROFILE_DEV_DEBUG=false CARGO_PROFILE_DEV_CODEGEN_UNITS=4

# Lints, and all tests but the long ones: units, properties, scenarios, conformance, hostile input, comparison with the other servers.
unit:
	ZONDA="$(ZONDA)" CARGO="$(CARGO)" $(STRICT) $(LINTED) tests/run

# Those that take long and seldom find anything: all fault models, fits, self-checks of all recipes. They are ignored tests of
# modules called `long`; of each kind a quick one is in `make test`. They compute for so long that it pays to optimise all crates.
.PHONY: test-long
test-long: setup
	ZONDA="$(ZONDA)" $(STRICT) $(LINTED) CARGO_PROFILE_DEV_OPT_LEVEL=1 $(CARGO) test --workspace --no-fail-fast -- --ignored long::

# The pictures of the page in the manual, from a server under load: some four minutes.
.PHONY: pages
pages: setup
	$(LINTED) $(CARGO) build --package zonda
	$(STRICT) $(LINTED) $(CARGO) test --package zonda-tests --test operator -- --ignored --exact api::page::pictures::make

# Every query instead of a sample: some ten minutes.
differential:
	ZONDA_DIFFERENTIAL=full $(CARGO) test --package zonda-tests --test differential -- --nocapture

# The stress tests of `sync` under the thread sanitizer; builds the standard library with it first.
.PHONY: tsan
tsan:
	crates/sync/tsan

# Kept inputs, then new ones. Two targets at a time: each uses one core.
FUZZ_GOALS = fuzz-message fuzz-zonefile fuzz-pack fuzz-trace fuzz-tsig fuzz-message-layer fuzz-update fuzz-api fuzz-transfer fuzz-validate fuzz-resolve-response fuzz-journal fuzz-feed-frame
.PHONY: $(FUZZ_GOALS)

fuzz:
	fuzz/run
	$(MAKE) --jobs=2 --output-sync=target $(FUZZ_GOALS)

$(FUZZ_GOALS): fuzz-%:
	fuzz/run $* $(FUZZ_SECONDS)

# Installing. DESTDIR is a folder to stage a package in, PREFIX where the files are used. Nothing is built here: root need not have a
# toolchain. Settings that are there stay, and so do zones and packs whatever is removed.
PREFIX ?= /usr/local
DESTDIR ?=
SYSCONFDIR ?= /etc
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
UNITDIR ?= $(PREFIX)/lib/systemd/system
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
# The program that is installed, and run to write pages and completions.
BUILT ?= $(or $(CARGO_TARGET_DIR),target)/release/zonda
D = $(DESTDIR)
P = $(DESTDIR)$(PREFIX)
COMPLETIONS = bash:$(P)/share/bash-completion/completions/zonda zsh:$(D)$(ZSHDIR)/_zonda \
	fish:$(P)/share/fish/vendor_completions.d/zonda.fish

.PHONY: install uninstall
install:
	@test -x "$(BUILT)" || { echo "$(BUILT) is not there: run \`make\` first" >&2; exit 1; }
	install -D -m 755 "$(BUILT)" "$(D)$(BINDIR)/zonda"
	"$(BUILT)" man "$(D)$(MANDIR)/.zonda" >/dev/null
	install -d "$(D)$(MANDIR)/man1" "$(D)$(MANDIR)/man5"
	install -m 644 "$(D)$(MANDIR)/.zonda/"*.1 "$(D)$(MANDIR)/man1/"
	install -m 644 "$(D)$(MANDIR)/.zonda/"*.5 "$(D)$(MANDIR)/man5/"
	rm -r "$(D)$(MANDIR)/.zonda"
	umask 022; for each in $(COMPLETIONS); do \
		install -d "$$(dirname "$${each#*:}")" && "$(BUILT)" completion "$${each%%:*}" >"$${each#*:}" || exit 1; \
	done
	install -d "$(D)$(UNITDIR)"
	sed 's|/usr/bin/|$(BINDIR)/|; s|/etc/zonda/|$(SYSCONFDIR)/zonda/|' packaging/zonda.service >"$(D)$(UNITDIR)/zonda.service"
	chmod 644 "$(D)$(UNITDIR)/zonda.service"
	install -D -m 644 packaging/zonda.sysusers "$(P)/lib/sysusers.d/zonda.conf"
	install -D -m 644 packaging/zonda.tmpfiles "$(P)/lib/tmpfiles.d/zonda.conf"
	install -D -m 644 packaging/zonda.toml "$(P)/share/doc/zonda/zonda.toml"
	install -m 644 LICENSE-APACHE LICENSE-MIT CHANGELOG.md "$(P)/share/doc/zonda/"
	install -m 644 packaging/grafana/zonda.json "$(P)/share/doc/zonda/grafana.json"
	install -m 644 packaging/prometheus/zonda.rules.yml "$(P)/share/doc/zonda/prometheus.rules.yml"
	install -d "$(D)$(SYSCONFDIR)/zonda/zones"
	@if ! test -e "$(D)$(SYSCONFDIR)/zonda/zonda.toml"; then \
		install -m 644 packaging/zonda.toml "$(D)$(SYSCONFDIR)/zonda/zonda.toml"; \
	elif ! cmp -s packaging/zonda.toml "$(D)$(SYSCONFDIR)/zonda/zonda.toml"; then \
		echo "$(SYSCONFDIR)/zonda/zonda.toml stays as it is; the new example is $(PREFIX)/share/doc/zonda/zonda.toml"; fi

uninstall:
	rm -f "$(D)$(BINDIR)/zonda" "$(D)$(MANDIR)/man1/zonda.1" "$(D)$(MANDIR)/man5/zonda.toml.5"
	for command in serve check-config check-zone compile stat ctl top journal store api-key settings man completion; do \
		rm -f "$(D)$(MANDIR)/man1/zonda-$$command.1"; done
	for each in $(COMPLETIONS); do rm -f "$${each#*:}"; done
	rm -f "$(D)$(UNITDIR)/zonda.service" "$(P)/lib/sysusers.d/zonda.conf" "$(P)/lib/tmpfiles.d/zonda.conf"
	rm -rf "$(P)/share/doc/zonda"
	@echo "$(SYSCONFDIR)/zonda stays, and so do the user zonda and what the server stored"

# A package for Debian and its relatives, of what is installed above. Nothing is compiled here, and no right is needed.
DEB_FOLDER ?= $(or $(CARGO_TARGET_DIR),target)/debian

.PHONY: deb
deb:
	@test -x "$(BUILT)" || { echo "$(BUILT) is not there: run \`make\` first" >&2; exit 1; }
	CARGO="$(CARGO)" packaging/deb "$(BUILT)" "$(DEB_FOLDER)"
