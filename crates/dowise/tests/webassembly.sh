#!/bin/sh
# The example `fingerprints` here and in WebAssembly has to print the same lines.
# Usage: webassembly.sh PROGRAM, the example made for this machine; needs node and, of Debian, rustc-web, libstd-rust-web-dev,
# rust-web-src, lld-22 and wasi-libc (a compiler whose standard library can be made for WebAssembly). They may be unpacked
# in place of being installed: WASM_ROOT is the directory with their usr/.
set -eu
native=$1
root=${WASM_ROOT:-}
here=$(cd "$(dirname "$0")" && pwd)
crate=$(dirname "$here")
lib=$root/usr/lib/wasm32-wasi
for file in usr/bin/rustc usr/bin/wasm-ld-22 usr/lib/wasm32-wasi/crt1-command.o usr/lib/rustlib/src/rust/library/std; do
  [ -e "$root/$file" ] || { echo "$root/$file is not there (Debian: rustc-web, rust-web-src, lld-22, wasi-libc)" >&2; exit 2; }
done
command -v node > /dev/null || { echo "node is not installed (Debian: nodejs)" >&2; exit 2; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp "$crate/../../Cargo.lock" "$place/"
cat > "$place/Cargo.toml" << MANIFEST
[package]
name = "fingerprints"
version = "0.0.0"
edition = "2024"
[[bin]]
name = "fingerprints"
path = "$crate/experiments/fingerprints.rs"
[dependencies]
dowise = { path = "$crate" }
[profile.release]
opt-level = 1
panic = "abort"
[workspace]
MANIFEST
(
  cd "$place"
  export RUSTC="$root/usr/bin/rustc" RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_WASIP1_LINKER="$root/usr/bin/wasm-ld-22"
  export RUSTFLAGS="-Clink-self-contained=no -L$lib" CARGO_TARGET_DIR="${WASM_TARGET:-$place/target}"
  export LD_LIBRARY_PATH="$root/usr/lib/x86_64-linux-gnu:$root/usr/lib/llvm-22/lib"
  # Threads are asked for by name and refused when the program runs: webassembly.mjs.
  cargo rustc --quiet --release -Zbuild-std=std,panic_abort --target wasm32-wasip1 -- \
    -Clink-arg="$lib/crt1-command.o" -Clink-arg=--allow-undefined
  cp "$CARGO_TARGET_DIR/wasm32-wasip1/release/fingerprints.wasm" "$place/"
)
node --no-warnings "$here/webassembly.mjs" "$place/fingerprints.wasm" > "$place/there"
"$native" > "$place/here"
if cmp -s "$place/here" "$place/there"; then
  echo "same: $(wc -l < "$place/here") worlds and learners in WebAssembly"
else
  diff "$place/here" "$place/there" | head -n 20
  echo "DIFFERS: WebAssembly"
  exit 1
fi
