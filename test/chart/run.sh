#!/usr/bin/env bash
# The Helm chart, the workflows and the version, by helm and actionlint themselves, which are built from Go modules.
set -euo pipefail
. "$(dirname "$0")/../cluster/env.sh"
need_modules
built=$cache/chart-$( (go version && key test/chart/go.mod test/chart/go.sum) | sha256sum | cut -c1-12)
mkdir -p "$cache"
exec 9>"$cache/chart-lock" && flock 9 # one build at a time
if [ ! -e "$built" ]; then
  command -v go >/dev/null || die "needs Go 1.26 or newer to build helm and actionlint (once)"
  say "building helm and actionlint into $built"
  rm -rf "$built.unfinished"
  (cd "$here/test/chart" && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$built.unfinished/" tool)
  mv "$built.unfinished" "$built"
fi
exec 9>&-
keep "$built"
cd "$here"
results=$(mktemp)
trap 'rm -f "$results"' EXIT
status=0
CHART_BIN=$built vitest run --config test/chart/vitest.config.ts --reporter=default --reporter=json --outputFile.json="$results" </dev/null || status=$?
count_vitest "$results" || status=1 # the last line
exit $status
