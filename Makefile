# `make` prints the targets. Every target makes what it needs: the virtual environment in .venv appears on first use.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && { echo $$p; break; }; done)
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Many tests wait for a gateway or for a limit: two workers a core.
WORKERS ?= $(shell expr 2 \* `getconf _NPROCESSORS_ONLN`)

# Thousands of short processes run the same modules: each would compile them anew where bytecode must not be written.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*\#\# .*/\1/p' $(firstword $(MAKEFILE_LIST)))  # every target is a word, not a file

help:  ## print the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(STAMP)  ## make .venv with canon-ops, its tools and a real Hermes (hermes-agent 0.19.0)

$(STAMP): pyproject.toml
	@test -n "$(PYTHON)" || { echo "No Python 3.11, 3.12 or 3.13 on PATH. Install one, or say: make PYTHON=/path/to/python" >&2; exit 3; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || { echo "$(PYTHON) is no Python 3.11, 3.12 or 3.13. Say: make PYTHON=/path/to/python" >&2; exit 3; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(STAMP)

demo: $(STAMP)  ## watch the whole product work: real Hermes gateway, loopback Canon, one message answered
	$(BIN)/canon-ops demo $(DEMO_ARGS)

test: $(STAMP) $(if $(CI),test-tools)  ## run the tests against the real host
	scripts/in_memory.sh $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not long" $(TEST_ARGS)

test-hosts: $(STAMP)  ## the core of the end-to-end set on every host, or SET=whole (HOSTS=0.19.0 PYTHONS=3.13 choose rows)
	$(BIN)/python -m scripts.test_hosts --hosts "$(HOSTS)" --pythons "$(PYTHONS)" --set "$(or $(SET),core)" $(TEST_ARGS)

test-rows: $(STAMP)  ## the suite with the lowest dependencies, the newest, and beside each host's pins (ROWS=lowest chooses)
	$(BIN)/python -m scripts.test_rows --rows "$(ROWS)" --pythons "$(PYTHONS)" $(TEST_ARGS)

test-elsewhere: test-contract test-sdk  ## on one Python: the contract suites, the other hosts, the refused one, the lowest dependencies and the newest, three minutes of soak-borgee
	$(MAKE) test-hosts HOSTS="0.18.2 0.21.0.post1 next refused" PYTHONS=here SET=whole
	$(MAKE) test-rows ROWS="lowest newest" PYTHONS=here
	$(MAKE) soak-borgee SOAK_S=180

mutants: $(STAMP)  ## put each known defect back, one at a time: the tests that its patch names must fail (MUTANTS=D23 chooses)
	$(BIN)/python -m scripts.mutants --only "$(MUTANTS)"

check: lint types imports docs  ## everything that needs no test run: format, lint, types, import contracts, generated files

fmt: $(STAMP)  ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(STAMP)  ## ruff: format and lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP)  ## mypy, strict
	$(BIN)/mypy
	$(BIN)/mypy tests

imports: $(STAMP)  ## import-linter: floors and homes of libraries
	$(BIN)/lint-imports

docs: $(STAMP)  ## check that generated documents agree with the code
	$(BIN)/python -m scripts.generate --check
	$(BIN)/python scripts/scenarios.py --check
	$(BIN)/python -m scripts.pictures --check

generate: $(STAMP)  ## write completions, manual pages, command reference and JSON Schemas from the command tree
	$(BIN)/python -m scripts.generate
	$(BIN)/python -m scripts.pictures

wheel: $(STAMP)  ## build the wheel into dist/
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

release-check: $(STAMP)  ## build a release twice, compare, list what is in it, ask for known vulnerabilities (REQUIRE_AUDIT=1 insists)
	$(BIN)/python -m scripts.release_check $(if $(REQUIRE_AUDIT),--require-audit)

test-contract: $(STAMP)  ## the suite that the published plugins pass, with our plugin on the host of .venv
	$(BIN)/python -m pytest -n 2 --dist loadfile -m long -k canon-ops tests/acceptance/test_published_registration.py tests/acceptance/test_published_plugin.py tests/acceptance/test_published_plugin_tools.py $(TEST_ARGS)

test-interop: $(STAMP)  ## the sandboxes against the published plugins in real gateways and the published Borgee clients (made in .hosts, once)
	$(BIN)/python -m pytest -m long tests/acceptance/test_published_registration.py tests/acceptance/test_published_plugin.py tests/acceptance/test_published_plugin_tools.py $(TEST_ARGS)
	$(MAKE) test-sdk
	$(BIN)/python -m pytest -m long tests/acceptance/test_borgee_published_inbox.py $(TEST_ARGS)
	$(BIN)/python -m pytest -m long tests/acceptance/test_approvals_published.py tests/acceptance/test_bench_peers.py $(TEST_ARGS)

test-sdk: $(STAMP)  ## the loopback Borgee server against the published Borgee clients, and against bytes written by hand (made in .hosts, once)
	$(BIN)/python -m pytest tests/contract/test_borgee_client.py tests/contract/test_borgee_bytes.py $(TEST_ARGS)

test-cards: $(STAMP)  ## CARDS=120000 cards: one verdict from our validator and the published one (made in .hosts, once)
	$(BIN)/python -m pytest -m long -s tests/acceptance/test_cards_published.py $(TEST_ARGS)

test-tools:  ## install what some tests need besides Python: gnome-keyring, D-Bus, strace, zsh, fish, groff, mandoc, curl (apt or dnf)
	scripts/test_tools.sh

test-keyring: $(STAMP) test-tools  ## the keyring against a real Secret Service, none, and one that never answers
	CI=1 $(BIN)/python -m pytest tests/acceptance/test_keyring_service.py tests/unit/keyring $(TEST_ARGS)

test-heal: $(STAMP)  ## bring comments back into every file of the corpus as two hosts and a running gateway rewrote it
	$(BIN)/python -m pytest -m long -s tests/acceptance/test_heal_hermes.py tests/property/test_heal.py $(TEST_ARGS)

test-surface: $(STAMP) test-tools  ## every command on every stream as the real script, every width and every kill of the wizard, all shells
	$(BIN)/python -m pytest tests/acceptance/test_cli_streams.py tests/acceptance/test_cli_setup.py tests/acceptance/test_hermes_setup.py tests/acceptance/test_completion_shells.py tests/unit/hermes/test_homes.py tests/unit/cli/test_mistyped_home.py $(TEST_ARGS)

test-layouts: $(STAMP)  ## install into every layout of a real Hermes from outside, move from the published plugin, take it back
	$(BIN)/python -m pytest tests/acceptance/test_layouts.py $(TEST_ARGS)

first-hour: $(STAMP)  ## walk the README as somebody new with a clean home, up to a green doctor; writes docs/first-hour.md
	$(BIN)/python -m scripts.first_hour

test-fleet: $(STAMP) test-tools  ## the example playbook: FLEET_HOMES=20 homes from nothing to healthy, again, and after harm; what its page and the Kubernetes manifests say (tools in .hosts, once)
	$(BIN)/python -m pytest -m long tests/acceptance/test_fleet.py tests/acceptance/test_kubernetes.py tests/acceptance/test_documented.py $(TEST_ARGS)

test-wheel: $(STAMP)  ## install the built wheel beside the host in a fresh environment and run the suite against it
	WORKERS=$(WORKERS) scripts/test_wheel.sh $(PYTHON)

crash-files: $(STAMP)  ## kill, starve and race every writer of a user's files at each of its steps (needs strace)
	$(BIN)/python -m pytest -m long tests/acceptance/test_files_crash.py tests/acceptance/test_commands_crash.py tests/acceptance/test_creds_crash.py tests/acceptance/test_setup_borgee_crash.py tests/acceptance/test_registration_crash.py tests/acceptance/test_files_writers.py $(TEST_ARGS)

crash-install: $(STAMP)  ## kill an installation at each of its durable steps, once while real pip copies; every next command needs no help
	$(BIN)/python -m pytest -m "long or not long" tests/unit/operate/test_package_killed.py tests/acceptance/test_install_killed.py $(TEST_ARGS)

test-busy: $(STAMP)  ## what people say into running turns, and are asked by them, in every kind of room and session
	$(BIN)/python -m pytest -m "long or not long" tests/acceptance/test_gateway_busy.py tests/acceptance/test_gateway_people.py $(TEST_ARGS)

test-demo: $(STAMP)  ## the demo as people start it, and Ctrl-C in the middle of it
	$(BIN)/python -m pytest -m "long or not long" tests/acceptance/test_demo.py $(TEST_ARGS)

test-media: $(STAMP)  ## pictures and documents through a real gateway, in every mode of delivery
	$(BIN)/python -m pytest -m "long or not long" tests/acceptance/test_gateway_media.py $(TEST_ARGS)

test-approvals: $(STAMP)  ## approvals and the example of a domain plugin in real gateways
	$(BIN)/python -m pytest -m "long or not long" tests/acceptance/test_gateway_approvals.py tests/acceptance/test_gateway_domain.py $(TEST_ARGS)

test-beside: $(STAMP)  ## what is beside Canon in a gateway: another platform's people, Borgee, a host that lacks what we rely on
	$(BIN)/python -m pytest -m "long or not long" tests/acceptance/test_gateway_guest.py tests/acceptance/test_both_platforms.py tests/acceptance/test_refused_host.py $(TEST_ARGS)

test-borgee: $(STAMP)  ## Borgee in real gateways: kill in mid-turn, remediation, switched off, stopped
	$(BIN)/python -m pytest -m "long or not long" tests/acceptance/test_borgee_gateway.py $(TEST_ARGS)

crash-canon: $(STAMP)  ## kill a real gateway two hundred times while people talk to it, ten times with the host's guard on
	$(BIN)/python -m pytest tests/acceptance/test_gateway_crash.py tests/acceptance/test_gateway_recovery.py tests/acceptance/test_gateway_restart.py $(TEST_ARGS)

crash-borgee: $(STAMP)  ## kill the Borgee adapter at each durable step and CRASH_KILLS=300 times at random, under load
	$(BIN)/python -m pytest -m "long or not long" tests/acceptance/test_borgee_crash.py --timeout 3600 $(TEST_ARGS)

crash-durable: $(STAMP)  ## kill, starve and unplug a database under load at each of its system calls (needs strace)
	$(BIN)/python -m pytest -m long tests/acceptance/test_durable_crash.py $(TEST_ARGS)

chaos-canon: $(STAMP)  ## two hundred messages, questions to people and files through a real gateway while the stream breaks, events double and requests fail
	$(BIN)/python -m pytest -m long tests/acceptance/test_gateway_chaos.py tests/acceptance/test_gateway_frames.py $(TEST_ARGS)

storm-canon: $(STAMP)  ## half an hour of every fault that Canon can have against a real gateway (STORM_S=600 is shorter)
	$(BIN)/python -m pytest -m long tests/acceptance/test_gateway_storm.py $(TEST_ARGS)

crash-approvals: $(STAMP)  ## ten thousand interleavings over one approval, with kills; and kills between any two steps of its files
	$(BIN)/python -m pytest -m long -s tests/acceptance/test_approvals_crash.py tests/unit/canon_hermes_plugin/approvals/test_trail_crashes.py tests/unit/canon_hermes_plugin/approvals/test_service.py $(TEST_ARGS)

soak: $(STAMP)  ## an hour (SOAK_S=3600) of fifty turns at once in a thousand conversations while two gateways are replaced: all answered, all flat; SOAK_ARGS=--write writes docs/soak.md
	$(BIN)/python -m scripts.soak --seconds $(or $(SOAK_S),3600) $(SOAK_ARGS)

soak-borgee: $(STAMP)  ## our Borgee client in a storm of every survivable fault for SOAK_S seconds (an hour)
	SOAK_S=$(or $(SOAK_S),3600) $(BIN)/python -m pytest -m long -s tests/acceptance/test_borgee_soak.py $(TEST_ARGS)

fuzz: $(STAMP)  ## FUZZ_N=1000000 mutated inputs for each parser and editor, and every find there ever was (FUZZ_SEED chooses)
	FUZZ_N=$(or $(FUZZ_N),1000000) FUZZ_SEED=$(or $(FUZZ_SEED),1) $(BIN)/python -m pytest -n 2 --dist worksteal tests/fuzz $(TEST_ARGS)
	$(BIN)/python -m pytest -m long tests/unit/canon_hermes_plugin/interactions/test_privilege.py tests/property/test_config_editor.py tests/property/test_comment_proof.py tests/unit/files/test_config_corpus.py $(TEST_ARGS)

bench: $(STAMP)  ## run all benchmarks (BENCH="sse durable" chooses); each prints its peer, and the end says which are over their limit
	$(BIN)/python -m scripts.bench --only "$(BENCH)"

bench-peers: $(STAMP)  ## one table of us and the published plugins (made in .hosts, once); BENCH="cards sse" chooses, BENCH_ARGS=--write writes docs/speed.md
	$(BIN)/python -m scripts.bench_peers --only "$(BENCH)" $(BENCH_ARGS)

bench-memory: $(STAMP)  ## a hundred thousand messages through the Canon adapter: its memory must not grow
	$(BIN)/python -m scripts.bench --only inbound --memory

clean:  ## remove what was made
	rm -rf $(VENV) .hosts .rows dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
