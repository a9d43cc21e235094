#!/usr/bin/env bash
# Brings the cluster up and waits until its nodes are ready.
set -euo pipefail
. "$(dirname "$0")/env.sh"
use_binaries
mkdir -p "$state"
[ -e "$states/sysctl" ] || sysctl $sysctls >"$states/sysctl" # kubelet sets the first three
# Of the usual 128 three clusters take all: kubelets and kube-proxies end with "too many open files".
[ "$(sysctl -n fs.inotify.max_user_instances)" -ge 4096 ] || sysctl -qw fs.inotify.max_user_instances=4096
"$cluster/certs.sh"
"$cluster/network.sh"

start() { # start NAMESPACE SCRIPT...: the script as the first process of its own namespaces
  setsid nsenter --net="/run/netns/$1" unshare --mount --uts --ipc --pid --fork --kill-child "${@:2}" \
    </dev/null >>"$state/up.log" 2>&1 &
}
wait_for() { # wait_for SECONDS WHAT COMMAND...
  local deadline=$((SECONDS + $1))
  until "${@:3}" >/dev/null 2>&1; do
    [ $SECONDS -lt $deadline ] || die "no $2 within $1 s; see $state/up.log, $state/cp and $state/node*/var/log"
    sleep 0.1
  done
}

start "$prefix-cp" "$cluster/control-plane.sh"
wait_for 120 "API server" kube get --raw /readyz
# The Node objects come first, so that each has the pod ranges that its routes lead to.
for n in $nodes; do
  kube apply -f - <<END
apiVersion: v1
kind: Node
metadata: {name: node$n}
spec: {podCIDR: "$(first pod "$n")", podCIDRs: ["$(of pod "$n" | sed 's/,/", "/')"]}
END
  start "$prefix-node$n" "$cluster/node.sh" "$n"
done
if [ $cni = sluice ]; then # no node is ready before it has a network
  for n in $nodes; do
    wait_for 60 "node$n" test -e "$state/node$n.pid"
    wait_for 60 "containerd on node$n" within "node$n" "$bin/ctr" version
  done
  "$cluster/deploy.sh"
fi
kube wait --for=condition=Ready --timeout=180s node --all
sed "s/DNS_FIRST/$(first dns)/; s/DNS_ALL/$(of dns | sed 's/,/", "/')/" "$cluster/dns.yaml" | directly | kube apply -f - >/dev/null
kube -n kube-system rollout status --timeout=120s deployment/coredns
