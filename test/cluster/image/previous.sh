#!/usr/bin/env bash
# Brings the nodes what ran before: the image of the commit whose layout was recorded last (test/layouts), as sluice:COMMIT, and its manifests as STATE/previous, for kubectl apply -k.
set -euo pipefail
. "$(dirname "$0")/../env.sh"
use_binaries
need_cluster
commit=$(previous_layout)
image=$("$cluster/image/image.sh" "$commit")
for n in $nodes; do within "node$n" "$bin/ctr" -n k8s.io images import --local "$image" >>"$state/up.log" 2>&1; done
into=$state/previous
rm -rf "$into" && mkdir -p "$into"
git -C "$here" archive "$commit" daemonset | tar -x -C "$into"
cat >"$into/kustomization.yaml" <<END
resources: [daemonset]
images: [{name: sluice, newTag: "$commit"}]
END
