#!/usr/bin/env bash
# Writes down what the scripts of a cluster look for: the first process of each place, and the administrator's papers.
set -euo pipefail
. "$(dirname "$0")/env.sh"

process() { # process CONTAINER: its first one, as this machine counts
  local there
  there=$(box docker inspect -f '{{.State.Pid}}' "$1")
  { cat /proc/[0-9]*/status 2>/dev/null || true; } | # processes end meanwhile
    awk -v there="$there" '/^NSpid:/ && NF == 4 && $3 == there && $4 == 1 { print $2 }'
}
process sluice-control-plane >"$state/cp.pid"
process sluice-worker >"$state/node1.pid"
process sluice-worker2 >"$state/node2.pid"

mkdir -p "$pki"
cp "$state/kubeconfig" "$pki/admin.conf"
paper() { kube config view --raw -o "jsonpath={.$2}" | base64 -d >"$pki/$1"; }
paper ca.crt 'clusters[0].cluster.certificate-authority-data'
paper admin.crt 'users[0].user.client-certificate-data'
paper admin.key 'users[0].user.client-key-data'
