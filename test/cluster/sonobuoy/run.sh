#!/usr/bin/env bash
# Runs our plugin by Sonobuoy on the cluster that is up, retrieves what it wrote, and counts the specs in it:
#   run.sh REPORTS      leaves REPORTS/sonobuoy.tar.gz     (FOCUS=regexp: other specs than the plugin's)
set -euo pipefail
. "$(dirname "$0")/../env.sh"
reports=${1:?run.sh REPORTS}
use_binaries
plugin=netpol
files=$("$cluster/sonobuoy/build.sh")

# As a person at a workstation, in the network that reaches the API server.
sonobuoy() { nsenter --net="/run/netns/$prefix-cp" "$files/sonobuoy" "$@" --kubeconfig="$pki/admin.conf"; }

for n in $nodes; do
  for image in sonobuoy conformance; do
    within "node$n" ctr -n k8s.io images import --local - <"$files/$image.tar" >/dev/null 2>&1
  done
done
sonobuoy delete --all --wait >/dev/null 2>&1 # what an earlier run left
sonobuoy run --plugin "$here/docs/conformance/sonobuoy-$plugin.yaml" --plugin-env "$plugin.E2E_EXTRA_ARGS=--num-nodes=$(wc -w <<<"$nodes")" \
  ${FOCUS:+--plugin-env "$plugin.E2E_FOCUS=$FOCUS"} --kubernetes-version "$("$bin/kubectl" version --client -o json | sed -n 's/.*"gitVersion": "\(.*\)".*/\1/p')" \
  --skip-preflight --wait=30 --wait-output=silent
sonobuoy status
rm -f "$reports/sonobuoy.tar.gz"
sonobuoy retrieve "$reports" --filename sonobuoy.tar.gz
"$files/sonobuoy" results "$reports/sonobuoy.tar.gz" --plugin "$plugin"
# Of the suite's specs alone: the report counts its own steps too, such as BeforeSuite.
"$files/sonobuoy" results "$reports/sonobuoy.tar.gz" --plugin "$plugin" --mode detailed >"$reports/sonobuoy.json"
sonobuoy delete --all --wait >/dev/null
specs() { grep -c "\"\[It\] \[sig-network\] Netpol.*\"status\":\"$1" "$reports/sonobuoy.json" || true; }
all=$(specs "") passed=$(specs passed)
[ -z "${FOCUS-}" ] || all=$((all - $(specs skipped)))
echo "$passed passed, $((all - passed)) failed"
[ "$passed" != 0 ] && [ "$passed" = "$all" ]
