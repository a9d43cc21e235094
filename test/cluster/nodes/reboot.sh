#!/usr/bin/env bash
# Takes a node's power away and brings it up again: its processes and all that the kernel held for it are gone, what
# is on its disk (/var, /etc) is left. Returns when its kubelet says that it is ready.
set -euo pipefail
. "$(dirname "$0")/../env.sh"
. "$cluster/nodes/lifecycle.sh"
use_binaries
n=${1#node}
[[ -e $state/ready && " $nodes " = *" $n "* ]] || die "there is no node \"$1\": node${nodes// / node}"

ready='{range .status.conditions[?(@.type=="Ready")]}{.status} {.lastHeartbeatTime}{end}'
heartbeat() { kube get node "node$n" -o jsonpath="$ready"; }
before=$(heartbeat)
is_back() { local now && now=$(heartbeat) && [[ $now = True* && $now != "$before" ]]; }

ip -n "$prefix-cp" link del "node$n" # at once: a namespace's own end comes later
end "$prefix-node$n"
rm -f "$state/node$n.pid"
remove_cgroups "$prefix-node$n"
"$cluster/nodes/network.sh" "$n"
start_node "$n"
wait_for 120 "kubelet of node$n" is_back
