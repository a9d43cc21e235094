#!/usr/bin/env bash
# Runs node N, as the first process of the node's namespaces; up.sh starts it.
set -euo pipefail
. "$(dirname "$0")/env.sh"
use_binaries
n=$1 name=node$1 dir=$state/node$1
read -r pid _ </proc/self/stat && echo "$pid" >"$dir.pid"
hostname "$name"

# The node's own /proc, /run, /var and /etc; kubelet and containerd then use their usual paths.
mkdir -p "$dir"/{var/lib,var/log,var/tmp,etc,etc.work}
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs tmpfs /run && mkdir -p /run/lock
# What our own /var would hide: the scripts, the binaries and the certificates, where they are kept there.
for path in "$here" "$cache" "$state"; do
  [[ $path != /var/* ]] || { mkdir -p "$dir$path" && mount --bind "$path" "$dir$path"; }
done
mount --rbind "$dir/var" /var
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$dir/etc,workdir=$dir/etc.work" /etc
mount --make-rshared /
echo "127.0.0.1 localhost $name" >/etc/hosts
: >/etc/resolv.conf

# Kubelet wants its root cgroup to exist: in every hierarchy of version 1.
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mkdir -p "/sys/fs/cgroup/k8s-$name"
else
  for hierarchy in /sys/fs/cgroup/*/; do mkdir -p "${hierarchy}k8s-$name"; done
  for f in cpuset.cpus cpuset.mems; do cat "/sys/fs/cgroup/cpuset/$f" >"/sys/fs/cgroup/cpuset/k8s-$name/$f"; done
fi

mkdir -p /etc/cni/net.d /etc/containerd /var/lib/kubelet
cat >/etc/cni/net.d/10-ptp.conflist <<END
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "ptp", "ipMasq": false, "ipam": {"type": "host-local", "dataDir": "/run/cni-ipam",
    "ranges": [[{"subnet": "$(pod4 "$n")"}], [{"subnet": "$(pod6 "$n")"}]],
    "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}},
  {"type": "portmap", "backend": "nftables", "capabilities": {"portMappings": true}}
]}
END
cat >/etc/containerd/config.toml <<END
version = 3
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = '$pause'
[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ['$bin']
conf_dir = '/etc/cni/net.d'
END
cat >/var/lib/kubelet/config.yaml <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $pki/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $pki/kubelet$n.crt
tlsPrivateKeyFile: $pki/kubelet$n.key
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /k8s-$name
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
clusterDNS: [$dns]
clusterDomain: cluster.local
resolvConf: ""
serializeImagePulls: false
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 100Mi}
END
cat >/var/lib/kubelet/proxy.yaml <<END
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
hostnameOverride: $name
clusterCIDR: $pods
clientConnection: {kubeconfig: $pki/proxy.conf}
conntrack: {maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
nftables: {syncPeriod: 30s, minSyncPeriod: 0s}
END

containerd >/var/log/containerd.log 2>&1 &
until ctr version >/dev/null 2>&1; do sleep 0.1; done
for image in "$images"/*.tar; do
  ctr -n k8s.io images import --local "$image" >>/var/log/import.log 2>&1
done
kubelet --config=/var/lib/kubelet/config.yaml --kubeconfig="$pki/$name.conf" \
  --hostname-override="$name" --node-ip="$(node4 "$n"),$(node6 "$n")" >/var/log/kubelet.log 2>&1 &
kube-proxy --config=/var/lib/kubelet/proxy.yaml >/var/log/kube-proxy.log 2>&1 &
wait -n
echo "a component of $name has ended; see $dir/var/log" >&2
