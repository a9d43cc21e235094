#!/usr/bin/env bash
# Builds and fetches what scripts/suites needs, part after part, so that it is there when it is asked for. The suites call
# the same scripts: they wait for a part that is at work here, and build again what has failed here, where that counts.
set -uo pipefail
. "$(dirname "$0")/env.sh"
cd "$cluster"
ahead() { "$@" >/dev/null || say "$*: left to the suites"; }
need_cluster_packages
ahead binaries/build.sh
ahead flannel/build.sh
ahead image/image.sh
ahead image/image.sh "$(previous_layout)"
ahead ../chart/build.sh
ahead ../chart/prometheus.sh
ahead sonobuoy/build.sh
