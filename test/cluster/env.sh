# What the cluster's scripts share; sourced, not run.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$here/scripts/lib.sh"
cluster=$here/test/cluster
prefix=${SLUICE_CLUSTER:-k8s} # several clusters on one machine: namespaces, cgroups and files begin with it
cache=${SLUICE_CACHE:-/var/cache/sluice}
states=${SLUICE_STATE:-/var/lib/sluice-cluster}
# `down` removes what is so named, and other files than a cluster's must not be meant by it.
name='^[A-Za-z0-9][A-Za-z0-9-]{0,30}$' path='^/[A-Za-z0-9._/-]+$'
[[ $prefix =~ $name && $prefix != sysctl ]] ||
  die "SLUICE_CLUSTER '$prefix' is no name of a cluster: 1 to 31 letters, digits and -, and not 'sysctl'; nothing was done"
for variable in "SLUICE_STATE $states" "SLUICE_CACHE $cache"; do
  [[ ${variable#* } =~ $path ]] ||
    die "${variable%% *} '${variable#* }' is no absolute path of letters, digits and . _ - /; nothing was done"
done
state=$states/$prefix
pki=$state/pki
export PATH=$PATH:/usr/sbin:/sbin

# What `up` changes of the whole machine, and the last `down` sets back.
sysctls="vm.overcommit_memory kernel.panic kernel.panic_on_oops fs.inotify.max_user_instances"

# What `up` was asked for, and wrote down.
nodes="1 2"     # node N is node<N>, in the namespace <prefix>-node<N>
families="4 6"  # the first is that of Services and of pods that ask for one
cni=ptp proxy=nftables
backend=vxlan   # of Flannel
[ ! -e "$state/options" ] || . "$state/options"

# The addresses of one family; the control plane is in the namespace <prefix>-cp.
cp4=172.18.0.1 cp6=fd00:18::1
node4() { echo "172.18.0.$((10 + $1))"; }
node6() { echo "fd00:18::1$1"; }
pod4() { echo "10.244.$1.0/24"; }
pod6() { echo "fd00:244:0:$1::/64"; }
pods4=10.244.0.0/16 pods6=fd00:244::/48
services4=10.96.0.0/16 services6=fd00:96::/112
dns4=10.96.0.10 dns6=fd00:96::a

# in_family FAMILY NAME [ARGUMENT]: what node4 or node6 says, the value of pods4 or pods6, …
in_family() {
  local what=$2$1
  if [ "$(type -t "$what")" = function ]; then "$what" "${@:3}"; else echo "${!what}"; fi
}
of() { # of NAME [ARGUMENT]: that of all families, with commas
  local family list=
  for family in $families; do list+=,$(in_family "$family" "$@"); done
  echo "${list#,}"
}
first() { of "$@" | cut -d, -f1; }
server() { if [ "${families%% *}" = 4 ]; then echo "https://$cp4:6443"; else echo "https://[$cp6]:6443"; fi; }

pause=registry.k8s.io/pause:3.10.2
agnhost=registry.k8s.io/e2e-test-images/agnhost:2.63.0
ingress=ghcr.io/zalando/skipper:v0.22.0

# What is built is named by all that decides what comes out, so an old one is never taken for a new one.
key() { # key PATH...: a name for the contents of these files and folders
  (cd "$here" && find "$@" -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c1-12)
}
binaries() { (cd "$cluster/binaries" && go version && key test/cluster/binaries) | sha256sum | cut -c1-12; }

# Debian's, of a cluster and of the images of its nodes.
need_cluster_packages() {
  need_packages runc:runc nft:nftables ip:iproute2 openssl:openssl sysctl:procps busybox:busybox-static bash-static:bash-static
}

# The commit whose layout of our tables was recorded last (test/layouts).
previous_layout() {
  (cd "$here/test/layouts" && ls -v *-*.json | tail -1 | sed -n 's/^[0-9]*-\([0-9a-f]*\)\.json$/\1/p')
}

# keep BUILT: marks it as used now, and removes of its kind all but the four used last, for checkouts that take turns,
# and what a cluster still runs from.
keep() {
  local old run
  touch "$1"
  run=$(readlink /proc/[0-9]*/exe || true) # processes end meanwhile; a pipe to `grep -q` would end this one
  for old in $(ls -dt "${1%-*}"-????????????* | tail -n +5); do
    [[ $run = *"$old/"* ]] || rm -rf "$old"
  done
}

# The binaries and images of this checkout's versions; build.sh and images.sh make them.
use_binaries() {
  built=$cache/kubernetes-$(binaries)
  bin=$built/bin images=$built/images
  PATH=$bin:$PATH
}

# supervise LOG COMMAND...: runs it in the background, and again whenever it ends, as an init system would.
supervise() {
  while true; do
    "${@:2}" >>"$1" 2>&1 || true
    sleep 1
  done &
}

# Without kube-proxy the Service of the API server leads nowhere: its manifests are told the server's own address.
directly() {
  if [ $proxy = none ]; then need_modules >&2 && node "$cluster/nodes/directly.ts" "$(first cp)" 6443; else cat; fi
}

kube() { nsenter --net="/run/netns/$prefix-cp" "$bin/kubectl" --kubeconfig="$pki/admin.conf" "$@"; }

# extent says whether this cluster is `whole`, `part` or `none`.
extent() {
  if [ -e "$state/ready" ] && [ -e "/run/netns/$prefix-cp" ]; then
    echo whole
  elif [ -e "$state" ] || [ -e "/run/netns/$prefix-cp" ]; then
    echo part
  else
    echo none
  fi
}

need_cluster() {
  case $(extent) in
    none) die "there is no cluster $prefix: make it with scripts/cluster up" ;;
    part) die "cluster $prefix is half made: its up runs still, or was interrupted, or this machine was switched off since." \
      "scripts/cluster up makes it anew, scripts/cluster down removes it" ;;
  esac
}

# within PLACE COMMAND...: runs it in all namespaces of node1, node2, … or cp.
within() {
  [ -e "$state/$1.pid" ] || die "there is no $1 here (scripts/cluster status)"
  local pid
  pid=$(cat "$state/$1.pid") && shift
  nsenter -t "$pid" -m -n -p -u -i "$@"
}
