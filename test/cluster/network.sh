#!/usr/bin/env bash
# Makes the node network: a bridge in the control plane's namespace, a veth to each node, and routes to their pods.
set -euo pipefail
. "$(dirname "$0")/env.sh"

cp() { ip -n k8s-cp "$@"; }
sysctls() { ip netns exec "$1" sysctl -qw "${@:2}"; } # sysctls NAMESPACE NAME=VALUE...
namespace() { # without duplicate address detection, which would keep addresses tentative for a second
  ip netns add "$1"
  sysctls "$1" net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0
  ip -n "$1" link set lo up
}

namespace k8s-cp
# Where br_netfilter is loaded, frames between the nodes would pass iptables.
for f in iptables ip6tables; do
  [ ! -e "/proc/sys/net/bridge/bridge-nf-call-$f" ] || sysctls k8s-cp "net.bridge.bridge-nf-call-$f=0"
done
cp link add nodes type bridge
cp addr add $cp4/24 dev nodes
cp addr add $cp6/64 dev nodes nodad
cp link set nodes up
for n in $nodes; do
  ns=k8s-node$n
  namespace "$ns"
  sysctls "$ns" net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv6.conf.default.forwarding=1
  cp link add "node$n" type veth peer name eth0 netns "$ns"
  cp link set "node$n" master nodes up
  ip -n "$ns" addr add "$(node4 "$n")/24" dev eth0
  ip -n "$ns" addr add "$(node6 "$n")/64" dev eth0 nodad
  ip -n "$ns" link set eth0 up
  ip -n "$ns" route add default via $cp4
  ip -n "$ns" route add default via $cp6
done
for n in $nodes; do
  for ns in k8s-cp $(for m in $nodes; do [ "$m" = "$n" ] || echo "k8s-node$m"; done); do
    ip -n "$ns" route add "$(pod4 "$n")" via "$(node4 "$n")"
    ip -n "$ns" route add "$(pod6 "$n")" via "$(node6 "$n")"
  done
done
