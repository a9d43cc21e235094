# What the cluster's scripts share; sourced, not run.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$here/scripts/lib.sh"
cluster=$here/test/cluster
cache=${SLUICE_CACHE:-/var/cache/sluice}
state=${SLUICE_STATE:-/var/lib/sluice-cluster}
pki=$state/pki
export PATH=$PATH:/usr/sbin:/sbin

nodes=${NODES:-1 2}             # node N is node<N>, in the namespace k8s-node<N>
cp4=172.18.0.1 cp6=fd00:18::1   # the control plane, in the namespace k8s-cp
node4() { echo "172.18.0.$((10 + $1))"; }
node6() { echo "fd00:18::1$1"; }
pod4() { echo "10.244.$1.0/24"; }
pod6() { echo "fd00:244:0:$1::/64"; }
pods=10.244.0.0/16,fd00:244::/48
services=10.96.0.0/16,fd00:96::/112
dns=10.96.0.10
pause=registry.k8s.io/pause:3.10.2
agnhost=registry.k8s.io/e2e-test-images/agnhost:2.63.0

# What is built is named by all that decides what comes out, so an old one is never taken for a new one.
key() { # key PATH...: a name for the contents of these files and folders
  (cd "$here" && find "$@" -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c1-12)
}
binaries() { (cd "$cluster" && go version && key test/cluster/{agnhost,anp,coredns,e2e,kube,mkimage,npa,pause,go.mod,go.sum,build.sh,images.sh}) | sha256sum | cut -c1-12; }

# keep NEWEST: removes what older versions left in the cache beside it.
keep() {
  local old
  for old in "${1%-*}"-*; do [ "$old" = "$1" ] || rm -rf "$old"; done
}

# The binaries and images of this checkout's versions; build.sh and images.sh make them.
use_binaries() {
  built=$cache/kubernetes-$(binaries)
  bin=$built/bin images=$built/images
  PATH=$bin:$PATH
}

kube() { nsenter --net=/run/netns/k8s-cp "$bin/kubectl" --kubeconfig="$pki/admin.conf" "$@"; }

# within PLACE COMMAND...: runs it in all namespaces of node1, node2, … or cp.
within() {
  [ -e "$state/$1.pid" ] || die "there is no $1 here (scripts/cluster status)"
  local pid
  pid=$(cat "$state/$1.pid") && shift
  nsenter -t "$pid" -m -n -p -u -i "$@"
}
