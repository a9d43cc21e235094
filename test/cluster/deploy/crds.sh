#!/usr/bin/env bash
# Defines the policies that Kubernetes itself does not have, as upstream's suites do, with their experimental fields:
#   crds.sh [cnp] [anp]    ClusterNetworkPolicy; AdminNetworkPolicy and BaselineAdminNetworkPolicy; both
set -euo pipefail
. "$(dirname "$0")/../env.sh"
use_binaries

define() { # define FOLDER WITH A go.mod, NAME...
  local name module
  module=$(cd "$1" && go list -m -f '{{.Dir}}' sigs.k8s.io/network-policy-api)
  for name in "${@:2}"; do
    kube apply --server-side -f "$module/config/crd/experimental/policy.networking.k8s.io_$name.yaml"
    kube wait --for=condition=Established "crd/$name.policy.networking.k8s.io"
  done
}

for which in ${*:-cnp anp}; do
  case $which in
    cnp) define "$cluster/binaries" clusternetworkpolicies ;;
    anp) define "$cluster/binaries/anp" adminnetworkpolicies baselineadminnetworkpolicies ;;
    *) die "there are no definitions \"$which\": cnp, anp, or both" ;;
  esac
done
