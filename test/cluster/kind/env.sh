# What the scripts of this folder share; sourced, not run. A kind cluster is a cluster like that of scripts/cluster: its
# state is kept as env.sh has it, with the box in which docker runs as the place `cp`.
export SLUICE_CLUSTER=${SLUICE_CLUSTER:-kind}
. "$(dirname "${BASH_SOURCE[0]}")/../env.sh"
use_binaries
room=$cluster/kind
built_kind=$cache/kind-$( (binaries && key test/cluster/kind/{roots.sh,go.mod,go.sum}) | sha256sum | cut -c1-12)
roots=$built_kind/roots docker=$built_kind/docker-$(key test/cluster/kind/images.sh)
kubernetes=v1.36.3

# box COMMAND...: runs it in the box, where neither Go nor the machine's environment is; with it go the variables of this
# file that scripts in the box use.
box() {
  [ -e "$state/box.pid" ] || return
  nsenter -t "$(cat "$state/box.pid")" --mount --net --pid --ipc --uts --cgroup \
    env -i HOME=/root TERM="${TERM-dumb}" PATH="$built_kind/bin:$bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
    KUBECONFIG="$state/kubeconfig" here="$here" room="$room" built="$built" bin="$bin" built_kind="$built_kind" \
    roots="$roots" kubernetes="$kubernetes" cp4="$cp4" cp6="$cp6" "$@"
}
