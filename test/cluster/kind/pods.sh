#!/usr/bin/env bash
# In the box: a network for the pods that leaves policy to others, as kind's own did up to v0.23: on every node a list of
# CNI plugins, and routes to the pods of the other nodes.
set -euo pipefail
. "$here/scripts/lib.sh"

container() { # container NODE
  case $1 in
    node1) echo sluice-worker ;;
    node2) echo sluice-worker2 ;;
    *) echo "$1" ;;
  esac
}

list() { # list CIDR4 CIDR6
  cat <<END
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "ptp", "ipMasq": false, "ipam": {"type": "host-local", "dataDir": "/run/cni-ipam",
    "ranges": [[{"subnet": "$1"}], [{"subnet": "$2"}]], "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}
]}
END
}

address='{.status.addresses[?(@.type=="InternalIP")].address}'
nodes=$(kubectl get nodes -o jsonpath="{range .items[*]}{.metadata.name} $address {.spec.podCIDRs[*]}{'\n'}{end}")
routes=$(awk '{ print "route replace " $4 " via " $2 " #" $1; print "route replace " $5 " via " $3 " #" $1 }' <<<"$nodes")
while read -r node _ _ cidr4 cidr6; do
  list "$cidr4" "$cidr6" | docker exec -i "$(container "$node")" tee /etc/cni/net.d/10-pods.conflist >/dev/null
  grep -v "#$node$" <<<"$routes" | docker exec -i "$(container "$node")" ip -batch -
done <<<"$nodes"
ip -batch - <<<"$routes" # what is outside of the nodes reaches their pods too, as in scripts/cluster
