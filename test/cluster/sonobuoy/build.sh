#!/usr/bin/env bash
# Builds Sonobuoy, its image and the image of the conformance tests, unless the cache holds them; prints their folder.
set -euo pipefail
. "$(dirname "$0")/../env.sh"
use_binaries
sonobuoy=$cache/sonobuoy-$( (binaries && key test/cluster/sonobuoy) | sha256sum | cut -c1-12)
exec 9>"$cache/sonobuoy-lock" && flock 9 # one build at a time
if [ ! -e "$sonobuoy/whole" ]; then
  mkdir -p "$sonobuoy"
  cd "$cluster/sonobuoy"
  say "building Sonobuoy: about 3 minutes on two idle cores when nothing is cached"
  # Built by Go 1.26 its worker takes the aggregator's address, IPv4 in brackets, for no URL.
  GOTOOLCHAIN=go1.24.6 CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$sonobuoy/" tool
  version=$(go list -m -f '{{.Version}}' github.com/vmware-tanzu/sonobuoy)
  kubernetes=$(cd "$cluster/binaries" && go list -m -f '{{.Version}}' k8s.io/kubernetes)
  "$bin/mkimage" -o "$sonobuoy/sonobuoy.tar" -names "docker.io/sonobuoy/sonobuoy:$version" "$sonobuoy/sonobuoy=/sonobuoy" =/tmp
  "$bin/mkimage" -o "$sonobuoy/conformance.tar" -names "registry.k8s.io/conformance:$kubernetes" =/tmp \
    $(for file in kubeconformance e2e.test ginkgo kubectl; do echo "$bin/$file=/usr/local/bin/$file"; done)
  touch "$sonobuoy/whole"
fi
keep "$sonobuoy"
echo "$sonobuoy"
