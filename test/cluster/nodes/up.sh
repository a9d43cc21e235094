#!/usr/bin/env bash
# Brings the cluster up and waits until its nodes are ready.
set -euo pipefail
. "$(dirname "$0")/../env.sh"
. "$cluster/nodes/lifecycle.sh"
use_binaries
mkdir -p "$state"
[ -e "$states/sysctl" ] || sysctl $sysctls >"$states/sysctl" # kubelet sets the first three
# Of the usual 128 three clusters take all: kubelets and kube-proxies end with "too many open files".
[ "$(sysctl -n fs.inotify.max_user_instances)" -ge 4096 ] || sysctl -qw fs.inotify.max_user_instances=4096
"$cluster/nodes/certs.sh"
"$cluster/nodes/network.sh"

# What Flannel is told of the network: it masquerades by the tool that kube-proxy uses.
net_conf() {
  local on
  on() { [[ " $families " = *" $1 "* ]] && echo true || echo false; }
  printf '{"Network": "%s", "EnableIPv4": %s, ' $pods4 "$(on 4)"
  printf '"IPv6Network": "%s", "EnableIPv6": %s, ' $pods6 "$(on 6)"
  printf '"EnableNFTables": %s, "Backend": {"Type": "%s"}}' "$([ $proxy = nftables ] && echo true || echo false)" $backend
}

start cp "$cluster/nodes/control-plane.sh"
wait_for 120 "API server" kube get --raw /readyz
# The Node objects come first, so that each has the pod ranges that its routes lead to.
for n in $nodes; do
  kube apply -f - <<END
apiVersion: v1
kind: Node
metadata: {name: node$n}
spec: {podCIDR: "$(first pod "$n")", podCIDRs: ["$(of pod "$n" | sed 's/,/", "/')"]}
END
  start_node "$n"
done
if [ $cni = sluice ]; then # no node is ready before it has a network
  for n in $nodes; do
    wait_for 60 "node$n" test -e "$state/node$n.pid"
    wait_for 60 "containerd on node$n" within "node$n" "$bin/ctr" version
  done
  "$cluster/deploy/deploy.sh"
fi
if [ $cni = flannel ]; then
  sed "s|NETWORK|$(net_conf)|" "$cluster/flannel/flannel.yaml" | directly | kube apply -f - >/dev/null
fi
kube wait --for=condition=Ready --timeout=180s node --all
outside=$(first cp)
[[ $outside != *:* ]] || outside="[$outside]"
sed "s/DNS_FIRST/$(first dns)/; s/CP_FIRST/$outside/; s/DNS_ALL/$(of dns | sed 's/,/", "/')/" "$cluster/nodes/dns.yaml" | directly | kube apply -f - >/dev/null
kube -n kube-system rollout status --timeout=120s deployment/coredns
