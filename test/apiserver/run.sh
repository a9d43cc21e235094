#!/usr/bin/env bash
# What `check` calls an error, beside what an API server refuses, by the validation of Kubernetes itself.
set -euo pipefail
. "$(dirname "$0")/../cluster/env.sh"
need_modules
built=$cache/apiserver-$( (go version && key test/apiserver/go.mod test/apiserver/go.sum test/apiserver/main.go) | sha256sum | cut -c1-12)
mkdir -p "$cache"
exec 9>"$cache/apiserver-lock" && flock 9 # one build at a time
if [ ! -e "$built" ]; then
  command -v go >/dev/null || die "needs Go 1.26 or newer to build the validation of Kubernetes (once)"
  say "building the validation of Kubernetes into $built"
  (cd "$here/test/apiserver" && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$built.unfinished" .)
  mv "$built.unfinished" "$built"
fi
keep "$built"
cd "$here"
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
export VALIDATE_BIN=$built
pass_tests "$results/report.json" vitest run --config test/apiserver/vitest.config.ts # the last line counts
