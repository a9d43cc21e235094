#!/usr/bin/env bash
# Takes the cluster down and removes all that up.sh made, however far it came.
set -uo pipefail
. "$(dirname "$0")/env.sh"
. "$cluster/lifecycle.sh"

for ns in $(ip netns list | grep -oE "^$prefix-(cp|node[0-9]+)\b"); do end "$ns"; done
remove_cgroups "$prefix-node[0-9]*"
rm -rf "$state"
# The last cluster sets back what the first one's kubelets have set for the whole machine.
if [ -z "$(ls -d "$states"/*/ 2>/dev/null)" ]; then
  [ ! -e "$states/sysctl" ] || sysctl -qp "$states/sysctl"
  rm -rf "$states"
fi
