#!/usr/bin/env bash
# Writes what the cluster can tell of a failure into a folder, one file each, and changes nothing:
#   test/cluster/nodes/evidence.sh FOLDER
# Of each node Sluice's log, status and tables, all tables, addresses and routes, and the ends of the node's own logs;
# of the API server what it holds. Whatever cannot be had says why in its file.
set -uo pipefail
. "$(dirname "$0")/../env.sh"
need_root
use_binaries
folder=${1:?evidence.sh FOLDER}
mkdir -p "$folder"

save() { # save FILE COMMAND...
  timeout 20 "${@:2}" >"$folder/$1" 2>&1 || echo "(exit code $?: ${*:2})" >>"$folder/$1"
}
# The functions of env.sh are not known to `timeout`: these are the same, as commands.
kubectl=(nsenter --net="/run/netns/$prefix-cp" "$bin/kubectl" --kubeconfig="$pki/admin.conf" --request-timeout=10s)
node() { # node N
  local pod name=node$1 inside
  inside=(nsenter -t "$(cat "$state/node$1.pid")" -m -n -p -u -i)
  save "$name-nft.txt" "${inside[@]}" nft list ruleset
  save "$name-ip.txt" "${inside[@]}" sh -c 'ip address; ip route; ip -6 route'
  for log in containerd kubelet kube-proxy; do save "$name-$log.log" "${inside[@]}" tail -n 1000 "/var/log/$log.log"; done
  pod=$("${kubectl[@]}" -n sluice get pods --field-selector "spec.nodeName=$name" -o name 2>/dev/null)
  [ -n "$pod" ] || return
  save "$name-agent.log" "${kubectl[@]}" -n sluice logs "$pod"
  save "$name-agent-before.log" "${kubectl[@]}" -n sluice logs --previous "$pod"
  save "$name-status.json" "${kubectl[@]}" -n sluice exec "$pod" -- sluice status -o json
  save "$name-inspect.json" "${kubectl[@]}" -n sluice exec "$pod" -- sluice inspect -o json
  save "$name-dump.json" "${kubectl[@]}" -n sluice exec "$pod" -- sluice inspect dump
}

save pods.yaml "${kubectl[@]}" get pods -A -o yaml
save objects.yaml "${kubectl[@]}" get namespaces,nodes,services,endpointslices,networkpolicies -A -o yaml
for kind in clusternetworkpolicies adminnetworkpolicies baselineadminnetworkpolicies; do
  save "$kind.yaml" "${kubectl[@]}" get "$kind" -o yaml
done
save events.txt "${kubectl[@]}" get events -A --sort-by=.lastTimestamp
for log in "$state"/cp/*.log; do save "cp-${log##*/}" tail -n 1000 "$log"; done
for n in $nodes; do node "$n"; done
say "evidence: $folder"
