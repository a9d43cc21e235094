#!/usr/bin/env bash
# Brings this checkout's agent to the nodes: its image, its manifests, and a restart where it runs already.
set -euo pipefail
. "$(dirname "$0")/../env.sh"
use_binaries
overlay=$here/daemonset
[ $cni != sluice ] || overlay=$here/daemonset/overlays/pod-network
manifests=$(kube kustomize "${1:-$overlay}" | directly) # first: the image may take minutes
image=$("$cluster/image/image.sh")
for n in $nodes; do within "node$n" "$bin/ctr" -n k8s.io images import --local "$image" >>"$state/up.log" 2>&1; done
runs=$(kube -n sluice get pods -o name)
kube apply -f - <<<"$manifests"
[ -z "$runs" ] || kube -n sluice rollout restart daemonset/sluice

# A DaemonSet that has seen no node yet counts as rolled out: wait for its pods as well.
deadline=$((SECONDS + 60))
until [ "$(kube -n sluice get pods -o name | wc -l)" = "$(wc -w <<<"$nodes")" ]; do
  [ $SECONDS -lt $deadline ] || die "no pods of the DaemonSet after a minute"
  sleep 0.2
done
kube -n sluice rollout status --timeout=120s daemonset/sluice
