# `make check` is what has to pass before a change goes in.

.PHONY: check format lint test doc program examples python slurm figures browser benchmarks faults attack identification \
	sensitivity fuzz same-bits

check: format lint test doc examples python slurm

format:
	cargo fmt --all --check

lint:
	cargo clippy --workspace --all-targets --features dowise/probes --locked -- -D warnings

test:
	cargo test --workspace --locked

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# The program with the features that `make test` compiles it with, so that nothing is compiled twice: asked for by its package
# alone, features of libraries that only tests want would be off, and half of the libraries be compiled again.
program:
	cargo test --locked --workspace --no-run --quiet --test commands

# The examples of the library run, and every ready-made world is written, checked and drawn by the program itself.
examples: program
	cargo build --locked --workspace --quiet --example plan --example learn --example own_environment
	@set -e; directory=$$(mktemp -d); trap 'rm -rf "$$directory"' EXIT; \
	made=$$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/debug; \
	for example in plan learn own_environment; do \
		echo "example: $$example"; \
		"$$made/examples/$$example" > /dev/null; \
	done; \
	for world in campaign treatment river-swim deep-sea paper; do \
		echo "example: $$world"; \
		"$$made/dowise" --quiet new $$world -o $$directory/$$world.toml; \
		"$$made/dowise" --quiet check $$directory/$$world.toml --draw $$directory/$$world.svg > /dev/null 2>&1; \
	done

# Runs the paper's experiments and what goes beyond them, and writes docs/reproduction.md with its figures.
figures:
	cargo run --release --locked -p dowise-cli -- reproduce --extras --out target/reproduction --docs docs

# The Python package: made as a wheel, installed into .venv, beside a peer and into an empty environment, checked and tested.
# Built with the profile of the other tests, so that they share what is compiled. Tools run as modules: their scripts
# would name the place where an environment was made, and a checkout may have been moved or copied.
PIP = -m pip --quiet --disable-pip-version-check --no-cache-dir
python: browser program
	python3 -m venv .venv
	.venv/bin/python $(PIP) install -r crates/dowise-py/requirements-dev.txt
	.venv/bin/python $(PIP) install --no-deps -r crates/dowise-py/requirements-tables.txt
	rm -rf .venv/wheel .venv/empty
	MATURIN_PEP517_ARGS="--profile dev" .venv/bin/python $(PIP) wheel --no-deps -w .venv/wheel .
	.venv/bin/python $(PIP) install --no-deps --force-reinstall .venv/wheel/dowise-*.whl
	python3 -m venv .venv/rlberry
	.venv/rlberry/bin/python $(PIP) install --no-compile -r crates/dowise-py/requirements-rlberry.txt
	.venv/rlberry/bin/python $(PIP) install --no-deps --force-reinstall .venv/wheel/dowise-*.whl
	.venv/bin/python -m ruff check crates/dowise-py
	.venv/bin/python -m ruff format --check crates/dowise-py
	.venv/bin/python -m mypy -p dowise
	.venv/bin/python -m mypy.stubtest dowise --mypy-config-file crates/dowise-py/stubtest.ini
	.venv/bin/python -m pytest
	python3 -m venv .venv/empty
	.venv/empty/bin/python $(PIP) install .venv/wheel/dowise-*.whl
	cd .venv/empty && bin/python -c "import dowise; print(dowise.compare('river-swim', ['graph-psrl'], 50, 2))"

# The page of the service is tested in a real browser; on Debian it is installed where that is allowed.
browser:
	@command -v chromium chromium-browser google-chrome google-chrome-stable > /dev/null \
		|| (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium > /dev/null) \
		|| (echo "the page is tested in Chromium or Chrome: install one of them"; exit 1)

# A study as jobs of a real Slurm on loopback, one of whose two nodes dies; on Debian it is installed where that is allowed.
slurm: program
	@(command -v slurmctld && command -v slurmd && command -v munged) > /dev/null \
		|| (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends slurm-wlm munge > /dev/null) \
		|| (echo "jobs are tested on Slurm: install slurm-wlm and munge"; exit 1)
	@made=$$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/debug; \
	crates/dowise-cli/tests/slurm.sh "$$made/dowise"

# Kills, races and full disks, many rounds of each: docs/reference/reliability.md says what must hold after them.
FAULT_ROUNDS = 50
faults:
	FAULT_ROUNDS=$(FAULT_ROUNDS) cargo test --release --locked -p dowise-cli --test faults --test service -- --nocapture

# Random worlds with random violations of assumptions, and the truth of every recommendation: docs/results.md has the table.
ATTACK_WORLDS = 5000
ATTACK_SEED = 20261119
attack:
	cargo build --release --locked -p dowise-cli
	python3 -m venv target/attack-venv
	target/attack-venv/bin/python $(PIP) install numpy==2.4.6
	target/attack-venv/bin/python benchmarks/attack/attack.py --binary target/release/dowise --jobs 2 \
		--worlds $(ATTACK_WORLDS) --seed $(ATTACK_SEED)

# Random graphs with hidden causes: what is identified, against the ID algorithm of a peer and the truth by enumeration.
identification:
	cargo build --release --locked -p dowise-cli
	python3 -m venv target/identification-venv
	target/identification-venv/bin/python $(PIP) install numpy==2.4.6 y0==0.2.11
	target/identification-venv/bin/python benchmarks/identification/identification.py --binary target/release/dowise \
		--graphs 1000 --seed 1
	target/identification-venv/bin/python benchmarks/identification/identification.py --binary target/release/dowise \
		--graphs 3000 --seed 3 --wide

# Random logs with a hidden cause of known strength: whether worst and best cases contain the truth (docs/results.md).
SENSITIVITY_LOGS = 1000
SENSITIVITY_EPISODES = 1000
sensitivity:
	cargo run --release --locked -p dowise --example sensitivity -- $(SENSITIVITY_LOGS) $(SENSITIVITY_EPISODES)

# Broken, odd and extreme inputs: docs/reference/reliability.md says what must hold for each. The same seed tries the same cases.
FUZZ_SECONDS = 600
FUZZ_CASES = 18446744073709551615
FUZZ_SEED = 1
fuzz:
	cargo run --profile fuzz --locked -p dowise-fuzz -- run --seconds $(FUZZ_SECONDS) --cases $(FUZZ_CASES) --seed $(FUZZ_SEED)

# Learners on this processor, on an emulated one without AVX, and in WebAssembly: docs/reference/reliability.md says what it needs.
same-bits:
	cargo build --release --locked -p dowise-cli
	crates/dowise-cli/tests/same-bits.sh target/release/dowise
	cargo build --release --locked -p dowise --example fingerprints
	crates/dowise/tests/webassembly.sh target/release/examples/fingerprints

# Times beside a peer (installed into target/peer-venv), growth with states and interventions, and loops against what the
# machine can do: writes docs/performance.md.
benchmarks:
	python3 benchmarks/performance.py
