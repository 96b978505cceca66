# `make check` is what has to pass before a change goes in.

.PHONY: check format lint test doc examples figures

check: format lint test doc examples

format:
	cargo fmt --all --check

lint:
	cargo clippy --workspace --all-targets --locked -- -D warnings

test:
	cargo test --workspace --locked

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# Every ready-made world is written, checked and drawn by the program itself.
examples:
	cargo build --locked -p dowise-cli
	@set -e; directory=$$(mktemp -d); trap 'rm -rf "$$directory"' EXIT; \
	program=$$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/debug/dowise; \
	for world in campaign treatment river-swim deep-sea paper; do \
		echo "example: $$world"; \
		"$$program" --quiet new $$world -o $$directory/$$world.toml; \
		"$$program" --quiet check $$directory/$$world.toml --draw $$directory/$$world.svg > /dev/null 2>&1; \
	done

# Runs the paper's experiments and what goes beyond them, and writes docs/reproduction.md with its figures.
figures:
	cargo run --release --locked -p dowise-cli -- reproduce --extras --out target/reproduction --docs docs
