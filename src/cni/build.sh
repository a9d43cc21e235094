#!/bin/sh
# Makes dist/cni/sluice-cni, which needs nothing of the machine that it is copied to. Without a C compiler it is left out.
set -eu
out=dist/cni/sluice-cni
flags='-O2 -Wall -Wextra -s'
rm -f "$out"
mkdir -p dist/cni
if ! command -v "${CC:-cc}" >/dev/null; then
  why='there is no C compiler here'
elif log=$("${CC:-cc}" -static $flags -o "$out" src/cni/sluice-cni.c 2>&1); then
  exit 0
else
  why="${CC:-cc} cannot build it ($(echo "$log" | grep -m 1 -i error || echo "$log" | head -n 1))"
fi
echo "sluice-cni is left out: $why (Debian: gcc and libc6-dev). Only a runtime that speaks CNI needs it." >&2
