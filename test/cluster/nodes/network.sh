#!/usr/bin/env bash
# Makes the node network: a bridge in the control plane's namespace, a veth to each node, and routes to their pods.
#   network.sh [N...]    everything; or these nodes' parts alone, anew
set -euo pipefail
. "$(dirname "$0")/../env.sh"

cp() { ip -n "$prefix-cp" "$@"; }
sysctls() { ip netns exec "$1" sysctl -qw "${@:2}"; } # sysctls NAMESPACE NAME=VALUE...
namespace() { # without duplicate address detection, which would keep addresses tentative for a second
  ip netns add "$1"
  sysctls "$1" net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0
  ip -n "$1" link set lo up
}
address() { # address NAMESPACE DEVICE ADDRESS
  if [[ $3 = *:* ]]; then ip -n "$1" addr add "$3/64" dev "$2" nodad; else ip -n "$1" addr add "$3/24" dev "$2"; fi
}

route() { # route NAMESPACE N: to the pods of node N
  local f
  for f in $families; do ip -n "$1" route add "$(in_family "$f" pod "$2")" via "$(in_family "$f" node "$2")"; done
}

control_plane() {
  namespace "$prefix-cp"
  # Where br_netfilter is loaded, frames between the nodes would pass iptables.
  for f in iptables ip6tables; do
    [ ! -e "/proc/sys/net/bridge/bridge-nf-call-$f" ] || sysctls "$prefix-cp" "net.bridge.bridge-nf-call-$f=0"
  done
  cp link add nodes type bridge
  cp link set nodes up
  for f in $families; do address "$prefix-cp" nodes "$(in_family "$f" cp)"; done
}

node() { # node N
  local n=$1 ns=$prefix-node$1 other
  namespace "$ns"
  sysctls "$ns" net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv6.conf.default.forwarding=1
  # A node that reboots has the link address that its neighbours know.
  cp link add "node$n" type veth peer name eth0 address "02:00:00:00:00:$(printf %02x "$n")" netns "$ns"
  cp link set "node$n" master nodes up
  ip -n "$ns" link set eth0 up
  for f in $families; do
    address "$ns" eth0 "$(in_family "$f" node "$n")"
    ip -n "$ns" route add default via "$(in_family "$f" cp)"
  done
  # Where Sluice or Flannel is the network, nodes make their routes to one another's pods themselves.
  [[ $cni != sluice && $cni != flannel ]] || return 0
  for other in $nodes; do [ "$other" = "$n" ] || route "$ns" "$other"; done
}

if [ $# = 0 ]; then
  control_plane
  for n in $nodes; do
    node "$n"
    route "$prefix-cp" "$n"
  done
else
  for n in "$@"; do node "$n"; done
fi
