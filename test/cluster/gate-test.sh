#!/usr/bin/env bash
# A real containerd, real pods and the start gate, without Kubernetes: pods whose first process sends at once, under a
# standing default deny, while the agent is killed and restarted. Says how many packets passed, and what a start took.
#
#     test/cluster/gate-test.sh [STARTS [AT_ONCE]]     200 and 6; needs what scripts/cluster has built
set -euo pipefail
. "$(dirname "$0")/env.sh"
need_root
use_binaries
[ -x "$bin/containerd" ] || die "no containerd: scripts/cluster up builds it"
export GATE_WORK
GATE_WORK=$(mktemp -d)
trap 'rm -rf "$GATE_WORK"' EXIT
unshare --net --mount --pid --uts --ipc --fork --kill-child "$cluster/gate/node.sh" "$@"
