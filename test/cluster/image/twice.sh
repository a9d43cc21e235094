#!/usr/bin/env bash
# Builds the agent's image once more, from the same files at another path and by other habits (umask, time zone, locale,
# home), and fails where one byte differs from the first: image.sh's, of this checkout.
#   twice.sh            for this machine's platform
#   twice.sh --arm64    as image.sh has it
set -euo pipefail
. "$(dirname "$0")/../env.sh"
need_modules
first=$("$cluster/image/image.sh" "$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
again=$work/a-checkout/of/somebody-else
mkdir -p "$again" "$work/home"

(
  umask 077
  cd "$here" && git ls-files -z --cached --others --exclude-standard | xargs -0 tar -c --no-recursion | tar -x -m --no-same-permissions -C "$again"
  [ "${1-}" != --arm64 ] || export TARGETARCH=arm64 ARM64_PACKAGES=${SLUICE_VM_CACHE:-/var/cache/sluice/vm}/apt/arm64/cache/archives
  say "building it again, at $again"
  # What npm asks, and how, is the machine's; the rest of its home is not.
  export npm_config_userconfig=${npm_config_userconfig:-$HOME/.npmrc} npm_config_cache=${npm_config_cache:-$HOME/.npm}
  HOME=$work/home TZ=Pacific/Kiritimati LC_ALL=C.UTF-8 unshare --mount node "$cluster/image/dockerfile.ts" "$work/again.tar" \
    docker.io/library/sluice:0.1.0 "$again" >&2
)

# contents IMAGE NAME: of each file in the layer its mode, owner, time, name and digest
contents() {
  mkdir "$work/$2-files" && tar -xOf "$1" layer.tar >"$work/$2-layer.tar"
  tar --numeric-owner --full-time -tvf "$work/$2-layer.tar"
  tar -xf "$work/$2-layer.tar" -C "$work/$2-files"
  (cd "$work/$2-files" && find . -type f -print0 | sort -z | xargs -0 sha256sum)
}
digests=$(sha256sum "$first" "$work/again.tar" | cut -d ' ' -f 1 | uniq)
if [ "$(wc -l <<<"$digests")" = 1 ]; then
  echo "sha256:$digests, $(gzip -c "$first" | wc -c) bytes compressed"
  echo "1 passed, 0 failed"
else
  diff <(contents "$first" first) <(contents "$work/again.tar" again) | grep '^[<>]' | sort -s -k7,7 | head -40 || true
  echo "the image is another one when it is built again"
  echo "0 passed, 1 failed"
  exit 1
fi
