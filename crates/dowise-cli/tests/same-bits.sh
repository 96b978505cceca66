#!/bin/sh
# Saves of learners on this processor and on an emulated one without AVX and fused multiply-add have to be the same bytes.
# Usage: same-bits.sh PROGRAM; needs qemu-x86_64 (Debian: qemu-user) and a program for x86-64.
set -eu
program=$1
command -v qemu-x86_64 > /dev/null || { echo "qemu-x86_64 is not installed (Debian: qemu-user)" >&2; exit 2; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
differ=0
for world in river-swim treatment; do
  for learner in graph-psrl graph-ucbvi ucbvi psrl cf-ucbvi c-psrl; do
    "$program" --quiet learn "$world" --learner "$learner" --episodes 6 --force --save "$place/here" > /dev/null
    qemu-x86_64 -cpu Nehalem "$program" --quiet learn "$world" --learner "$learner" --episodes 6 --force --save "$place/there" \
      > /dev/null 2> "$place/said" || { cat "$place/said" >&2; exit 1; }
    if cmp -s "$place/here" "$place/there"; then echo "same: $learner in $world"; else echo "DIFFERS: $learner in $world"; differ=1; fi
  done
done
exit $differ
