#!/usr/bin/env bash
# The Helm chart, the workflows and the version, by helm and actionlint themselves.
set -euo pipefail
. "$(dirname "$0")/../cluster/env.sh"
need_modules
built=$("$here/test/chart/build.sh")
cd "$here"
results=$(mktemp)
trap 'rm -f "$results"' EXIT
status=0
CHART_BIN=$built vitest run --config test/chart/vitest.config.ts --reporter=default --reporter=json --outputFile.json="$results" </dev/null || status=$?
count_vitest "$results" || status=1 # the last line
exit $status
