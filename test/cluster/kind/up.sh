#!/usr/bin/env bash
# In the box: the cluster, and Sluice on it.
#   up.sh [--pod-network]
set -euo pipefail
. "$here/scripts/lib.sh"
kind delete cluster --name sluice # what a box that was ended has left
docker network inspect kind >/dev/null 2>&1 ||
  docker network create --ipv6 --subnet 172.18.0.0/16 --gateway "$cp4" --subnet fd00:18::/64 --gateway "$cp6" kind
kind create cluster --config "$room/cluster.yaml" --image "kindest/node:$kubernetes"
[ -n "${1-}" ] || "$room/pods.sh"
"$here/scripts/kind-up" "$@"
kind load image-archive --name sluice "$built/images/ingress.tar"
kubectl wait --for=condition=Ready --timeout=180s node --all
kubectl -n kube-system rollout status --timeout=120s deployment/coredns
