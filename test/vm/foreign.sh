#!/usr/bin/env bash
# Makes the files of a machine of another architecture, unless they are there: foreign.sh ARCHITECTURE. Nothing is
# installed, and nothing of that architecture is run here: packages are unpacked, and what their scripts would do is not.
set -euo pipefail
. "$(dirname "$0")/env.sh"
arch=$1
# What the tests call, and what Node needs.
wanted="bash dash coreutils grep sed gawk findutils iproute2 nftables iputils-ping procps mount util-linux libstdc++6"
suite=bookworm

main() {
  local files modules
  files=$(foreign_files "$arch") modules=$(foreign_modules "$arch")
  [ -d "$files" ] || unpack_packages "$files"
  [ -d "$modules" ] || install_modules "$modules"
}

unpack_packages() { # unpack_packages FOLDER
  local work=$cache/unpacking.$$ archives=$cache/apt/$arch/cache/archives package
  trap 'rm -rf "$cache"/unpacking.$$' EXIT
  say "fetching Debian's files for $arch"
  rm -rf "$cache/files-$arch"-* "$archives"/*.deb
  mkdir -p "$work"/{proc,sys,dev,tmp,run,root,etc}
  apt "$arch" apt-get install -t "$suite" --download-only --no-install-recommends -y $wanted >/dev/null
  for package in "$archives"/*.deb; do dpkg-deb -x "$package" "$work"; done
  ln -sf dash "$work/bin/sh" && ln -sf gawk "$work/usr/bin/awk"
  echo "root:x:0:0:root:/root:/bin/bash" >"$work/etc/passwd"
  mv "$work" "$1"
}

# By this machine's npm: no package of ours has a script that would have to be run.
install_modules() { # install_modules FOLDER
  local work=$cache/installing.$$
  trap 'rm -rf "$cache"/installing.$$' EXIT
  say "installing npm packages for $arch"
  rm -rf "$cache/modules-$arch"-*
  mkdir -p "$work" && cp "$here"/package.json "$here"/package-lock.json "$work/"
  (cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error --cpu="$arch" --os=linux --libc=glibc >&2)
  mv "$work/node_modules" "$1"
}

main
