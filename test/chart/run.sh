#!/usr/bin/env bash
# The Helm chart, the workflows, the version, the alerts and what `--render` renders, by helm, kustomize, actionlint and
# Prometheus themselves.
set -euo pipefail
. "$(dirname "$0")/../cluster/env.sh"
need_modules
built=$("$here/test/chart/build.sh")
prometheus=$("$here/test/chart/prometheus.sh")
cd "$here"
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
export CHART_BIN=$built PROMETHEUS_BIN=$prometheus
pass_tests "$results/report.json" vitest run --config test/chart/vitest.config.ts # the last line counts
