#!/usr/bin/env bash
# A real containerd and real pods, without Kubernetes: pods whose first process sends at once, under a standing default
# deny, while the agent is killed and restarted. Says how many packets passed, and what a start took.
#
#     test/cluster/gate/gate-test.sh gate|attach [STARTS [AT_ONCE]]     200 and 6; needs what scripts/cluster has built
#
# gate: another plugin attaches the pods, and containerd waits for the rules by NRI. attach: Sluice attaches them, by
# sluice-cni, without the gate.
set -euo pipefail
. "$(dirname "$0")/../env.sh"
need_root
use_binaries
case ${1-} in gate | attach) ;; *) die "gate-test.sh gate|attach [STARTS [AT_ONCE]]" ;; esac
[ -x "$bin/containerd" ] || die "no containerd: scripts/cluster up builds it"
export GATE_WORK
GATE_WORK=$(mktemp -d)
trap 'rm -rf "$GATE_WORK"' EXIT
unshare --net --mount --pid --uts --ipc --fork --kill-child "$cluster/gate/node.sh" "$@"
