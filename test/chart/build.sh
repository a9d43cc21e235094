#!/usr/bin/env bash
# Builds helm, kustomize and actionlint from Go modules, unless the cache holds them, and prints the folder that they are in.
set -euo pipefail
. "$(dirname "$0")/../cluster/env.sh"
built=$cache/chart-$( (go version && key test/chart/go.mod test/chart/go.sum) | sha256sum | cut -c1-12)
mkdir -p "$cache"
exec 9>"$cache/chart-lock" && flock 9 # one build at a time
if [ ! -e "$built" ]; then
  command -v go >/dev/null || die "needs Go 1.26 or newer to build helm, kustomize and actionlint (once)"
  say "building helm, kustomize and actionlint into $built"
  rm -rf "$built.unfinished"
  (cd "$here/test/chart" && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$built.unfinished/" tool >&2)
  mv "$built.unfinished" "$built"
fi
keep "$built"
echo "$built"
