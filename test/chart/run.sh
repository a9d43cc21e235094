#!/usr/bin/env bash
# The Helm chart, the workflows, the version and the alerts, by helm, actionlint and Prometheus themselves.
set -euo pipefail
. "$(dirname "$0")/../cluster/env.sh"
need_modules
built=$("$here/test/chart/build.sh")
prometheus=$("$here/test/chart/prometheus.sh")
cd "$here"
results=$(mktemp)
trap 'rm -f "$results"' EXIT
status=0
CHART_BIN=$built PROMETHEUS_BIN=$prometheus vitest run --config test/chart/vitest.config.ts --reporter=default --reporter=json --outputFile.json="$results" </dev/null || status=$?
count_vitest "$results" || status=1 # the last line
exit $status
