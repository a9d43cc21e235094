#!/usr/bin/env bash
# Builds every binary of the cluster from Go modules, and its images, unless the cache holds this version of them.
set -euo pipefail
. "$(dirname "$0")/../env.sh"
use_binaries
mkdir -p "$cache"
exec 9>"$cache/lock" && flock 9 # one build at a time
[ ! -e "$built" ] || exit 0
command -v go >/dev/null || die "needs Go 1.26 or newer to build the cluster's binaries (once)"
say "building Kubernetes and its suites into $built: about 6 minutes on two idle cores when nothing is cached"

# Under another name until it is whole: a build that was interrupted is not a version.
rm -rf "$cache"/building.*
final=$built built=$cache/building.$$ bin=$cache/building.$$/bin images=$cache/building.$$/images
trap 'rm -rf "$built"' EXIT
mkdir -p "$bin" "$images"

version() { go list -m -f '{{.Version}}' "$1"; }
cd "$cluster/binaries"
export CGO_ENABLED=0
kubernetes=$(version k8s.io/kubernetes)
minor=${kubernetes#v1.} minor=${minor%%.*}
v=k8s.io/component-base/version
ldflags="-s -w -X $v.gitVersion=$kubernetes -X $v.gitMajor=1 -X $v.gitMinor=$minor"
ldflags+=" -X github.com/containerd/containerd/v2/version.Version=$(version github.com/containerd/containerd/v2)"
build() { say "go $1 ${*: -1}"; go "$@"; }
build build -trimpath -ldflags "$ldflags" -o "$bin/" ./kube ./agnhost ./pause ./mkimage tool
build build -trimpath -ldflags "$ldflags" -o "$bin/kubeconformance" k8s.io/kubernetes/test/conformance/image/go-runner
(cd coredns && build build -trimpath -ldflags "-s -w" -o "$bin/" .)
(cd ingress && build build -trimpath -ldflags "-s -w" -o "$bin/" tool)
build test -c -vet=off -trimpath -ldflags "$ldflags" -o "$bin/e2e.test" ./e2e
build test -c -vet=off -trimpath -ldflags "$ldflags" -o "$bin/npa.test" sigs.k8s.io/network-policy-api/conformance
(cd anp && build test -c -vet=off -trimpath -ldflags "-s -w" -o "$bin/anp.test" .)
for component in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubeadm kubectl; do
  ln -s kube "$bin/$component"
done
. "$cluster/binaries/images.sh"

mv "$built" "$final"
keep "$final"
