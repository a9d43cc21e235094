#!/bin/sh
# Makes the programs of C in dist/cni, each one static file: sluice-cni, which needs nothing of the machine that it is
# copied to, and keepcaps. Without a C compiler they are left out.
set -eu
flags='-O2 -Wall -Wextra -s'
mkdir -p dist/cni
for name in sluice-cni keepcaps; do
  out=dist/cni/$name
  rm -f "$out"
  if ! command -v "${CC:-cc}" >/dev/null; then
    why='there is no C compiler here'
  elif log=$("${CC:-cc}" -static $flags -o "$out" "src/network/cni/$name.c" 2>&1); then
    continue
  else
    why="${CC:-cc} cannot build it ($(echo "$log" | grep -m 1 -i error || echo "$log" | head -n 1))"
  fi
  echo "$name is left out: $why (Debian: gcc and libc6-dev). Only a runtime that speaks CNI, and an agent that is not root, need them." >&2
done
