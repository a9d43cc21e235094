#!/usr/bin/env bash
# Makes the agent's image by its Dockerfile, unless the cache holds it, and prints its tar:
#   image.sh            sluice:0.1.0 from this checkout
#   image.sh COMMIT     sluice:COMMIT from what the repository has of that commit, by the Dockerfile of then
#   image.sh --arm64    sluice:0.1.0 for that platform, built on this one; scripts/vm 6.1-arm64 has to have run once
set -euo pipefail
. "$(dirname "$0")/../env.sh"
use_binaries

# build NAME OUT [CHECKOUT]
build() {
  need_modules >&2
  say "building $1 by the Dockerfile"
  unshare --mount node "$cluster/image/dockerfile.ts" "$cache/unfinished.tar" "docker.io/library/$1" "${@:3}" >&2
  mv "$cache/unfinished.tar" "$2"
}

today() { # today NAME: of a file, before its key
  image=$cache/$1-$(key Dockerfile package.json package-lock.json tsconfig.json tsconfig.build.json rolldown.agent.mjs src \
    scripts/thirdparty.ts test/cluster/image/{dockerfile,dockerfile-parse,registry}.ts).tar
  [ -e "$image" ] || build sluice:0.1.0 "$image"
}

arm64() {
  export TARGETARCH=arm64 ARM64_PACKAGES=${SLUICE_VM_CACHE:-/var/cache/sluice/vm}/apt/arm64/cache/archives
  [ -e "$ARM64_PACKAGES" ] || die "there are no packages of arm64 here: scripts/vm 6.1-arm64 -- true fetches them"
  today arm64
}

at() { # at COMMIT
  local id
  id=$(git -C "$here" rev-parse --verify --quiet "$1^{commit}") ||
    die "this clone has no commit $1, of which an image is wanted: git fetch --unshallow"
  image=$cache/commit-${id:0:12}.tar
  [ ! -e "$image" ] || return 0
  checkout=$(mktemp -d)
  trap 'rm -rf "$checkout"' EXIT
  git -C "$here" archive "$id" | tar -x -C "$checkout"
  build "sluice:$1" "$image" "$checkout"
}

exec 9>"$cache/lock" && flock 9 # one build at a time
case ${1-} in
  "") today sluice ;;
  --arm64) arm64 ;;
  *) at "$1" ;;
esac
keep "$image"
echo "$image"
