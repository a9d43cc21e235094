#!/usr/bin/env bash
# Makes the agent's image from this checkout, by its Dockerfile, unless the cache holds it; prints its tar.
set -euo pipefail
. "$(dirname "$0")/../env.sh"
use_binaries
image=$cache/sluice-$(key Dockerfile package.json package-lock.json tsconfig.json tsconfig.build.json src scripts/thirdparty.ts \
  test/cluster/image/dockerfile.ts test/cluster/image/dockerfile-parse.ts test/cluster/binaries/mkimage).tar
exec 9>"$cache/lock" && flock 9 # one build at a time
if [ ! -e "$image" ]; then
  need_modules >&2
  say "building the image by the Dockerfile"
  unshare --mount node "$cluster/image/dockerfile.ts" "$bin/mkimage" "$cache/unfinished.tar" docker.io/library/sluice:0.1.0 >&2
  mv "$cache/unfinished.tar" "$image"
fi
keep "$image"
echo "$image"
