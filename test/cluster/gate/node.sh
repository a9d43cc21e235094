#!/usr/bin/env bash
# A node with containerd and nothing else, as the first process of its own namespaces; gate-test.sh starts it.
set -euo pipefail
. "$(dirname "$0")/../env.sh"
use_binaries
work=$GATE_WORK
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs tmpfs /run && mkdir -p /run/lock
mkdir -p "$work/cni" "$work/plugins" /var/lib/cni
mount -t tmpfs tmpfs /var/lib/cni
mount --make-rshared /

# Pods send to a host beyond a link of the node; what has passed all rules is counted: of those under the default deny,
# and of others.
ip link set lo up
sysctl -qw net.ipv4.ip_forward=1
ip link add outside type veth peer name far
ip link set outside up && ip link set far up
ip addr add 203.0.113.1/24 dev outside
ip neigh add 203.0.113.9 lladdr 02:00:00:00:00:99 dev outside nud permanent
nft -f - <<END
table inet watch {
  chain passed {
    type filter hook postrouting priority 300
    oifname "outside" tcp dport 80 counter
    oifname "outside" tcp dport 81 counter
  }
}
END
plugins=$work/plugins
[ "$1" = attach ] || plugins=$bin
[ "$1" = attach ] || cat >"$work/cni/10-ptp.conflist" <<END
{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "ptp", "ipMasq": false, "ipam": {"type": "host-local",
  "dataDir": "/run/cni-ipam", "ranges": [[{"subnet": "10.88.0.0/22"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
END
cat >"$work/containerd.toml" <<END
version = 3
root = '$work/containerd'
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = '$pause'
[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ['$plugins']
conf_dir = '$work/cni'
use_internal_loopback = true
END
containerd -c "$work/containerd.toml" >"$work/containerd.log" 2>&1 &
until ctr version >/dev/null 2>&1; do sleep 0.1; done
for image in pause agnhost; do ctr -n k8s.io images import --local "$images/$image.tar" >/dev/null; done
GATE_IMAGE=$agnhost "$here/node_modules/.bin/node" "$cluster/gate/drive.ts" "$@"
