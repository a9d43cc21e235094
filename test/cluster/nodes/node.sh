#!/usr/bin/env bash
# Runs node N, as the first process of the node's namespaces; up.sh starts it.
set -euo pipefail
. "$(dirname "$0")/../env.sh"
use_binaries
n=$1 node=node$1 dir=$state/node$1
read -r pid _ </proc/self/stat && echo "$pid" >"$dir.pid"
hostname "$node"

# The node's own /proc, /run, /var and /etc; kubelet and containerd then use their usual paths.
mkdir -p "$dir"/{var/lib,var/log,var/tmp,etc,etc.work}
ln -sfn /run "$dir/var/run" # what is there ends with the power
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs tmpfs /run && mkdir -p /run/lock
# What our own /var would hide: the scripts, the binaries and the certificates, where they are kept there.
for path in "$here" "$cache" "$state"; do
  [[ $path != /var/* ]] || { mkdir -p "$dir$path" && mount --bind "$path" "$dir$path"; }
done
mount --rbind "$dir/var" /var
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$dir/etc,workdir=$dir/etc.work" /etc
plugins=$bin
[ $cni != flannel ] || flannel=$("$cluster/flannel/build.sh")
if [ $cni = sluice ]; then # the agent brings its own, and there is no other
  plugins=/opt/cni/bin
  mkdir -p "$dir/opt" /opt && mount --bind "$dir/opt" /opt
fi
mount --make-rshared /
echo "127.0.0.1 localhost $node" >/etc/hosts
: >/etc/resolv.conf

# Kubelet wants its root cgroup to exist: in every hierarchy of version 1. All pods of a node together would weigh as
# much as one other process of this machine: let them weigh as much as ten.
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mkdir -p "/sys/fs/cgroup/$prefix-$node"
  weight=/sys/fs/cgroup/$prefix-$node/cpu.weight
  [ ! -e "$weight" ] || echo 1000 >"$weight"
else
  for hierarchy in /sys/fs/cgroup/*/; do mkdir -p "${hierarchy}$prefix-$node"; done
  for f in cpuset.cpus cpuset.mems; do cat "/sys/fs/cgroup/cpuset/$f" >"/sys/fs/cgroup/cpuset/$prefix-$node/$f"; done
  echo 10240 >"/sys/fs/cgroup/cpu/$prefix-$node/cpu.shares"
fi

mkdir -p /etc/cni/net.d /etc/containerd /var/lib/kubelet
range4() { echo "[{\"subnet\": \"$(pod4 "$n")\"}]"; }
range6() { echo "[{\"subnet\": \"$(pod6 "$n")\"}]"; }
route4='{"dst": "0.0.0.0/0"}' route6='{"dst": "::/0"}'
[ $cni != flannel ] || plugins="$bin', '$flannel"
# Which addresses are given ends with the power, as the pods do; the plugin can only be told by this path.
[ $cni != flannel ] || { mkdir -p /run/cni-ipam /var/lib/cni && ln -sfn /run/cni-ipam /var/lib/cni/networks; }
[ $cni != flannel ] || cat >/etc/cni/net.d/10-flannel.conflist <<END
{"cniVersion": "0.3.1", "name": "pods", "plugins": [
  {"type": "flannel", "delegate": {"hairpinMode": true, "isDefaultGateway": true}},
  {"type": "portmap", "backend": "nftables", "capabilities": {"portMappings": true}}
]}
END
[[ $cni = sluice || $cni = flannel ]] || cat >/etc/cni/net.d/10-pods.conflist <<END
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "$cni", "ipMasq": false, $([ $cni = ptp ] || echo '"isGateway": true, "hairpinMode": true,')
    "ipam": {"type": "host-local", "dataDir": "/run/cni-ipam", "ranges": [$(of range)], "routes": [$(of route)]}},
  {"type": "portmap", "backend": "nftables", "capabilities": {"portMappings": true}}
]}
END
cat >/etc/containerd/config.toml <<END
version = 3
imports = ['/etc/containerd/conf.d/*.toml']
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = '$pause'
[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ['$plugins']
conf_dir = '/etc/cni/net.d'
$([ $cni != sluice ] || echo 'use_internal_loopback = true')
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
cgroupRoot: /$prefix-$node
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
clusterDNS: [$(of dns)]
clusterDomain: cluster.local
resolvConf: ""
serializeImagePulls: false
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 100Mi}
END
cat >/var/lib/kubelet/proxy.yaml <<END
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: $proxy
hostnameOverride: $node
clusterCIDR: $(of pods)
clientConnection: {kubeconfig: $pki/proxy.conf}
conntrack: {maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
$proxy: {syncPeriod: 30s, minSyncPeriod: 0s}
END

supervise /var/log/containerd.log containerd
until ctr version >/dev/null 2>&1; do sleep 0.1; done
for image in "$images"/*.tar ${flannel:+"$flannel/flannel.tar"}; do
  ctr -n k8s.io images import --local "$image" >>/var/log/import.log 2>&1
done
supervise /var/log/kubelet.log kubelet --config=/var/lib/kubelet/config.yaml --kubeconfig="$pki/$node.conf" \
  --hostname-override="$node" --node-ip="$(of node "$n")"
[ $proxy = none ] || supervise /var/log/kube-proxy.log kube-proxy --config=/var/lib/kubelet/proxy.yaml
wait
