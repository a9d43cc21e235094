#!/usr/bin/env bash
# Makes the cluster's CA, its certificates and its kubeconfigs in state/pki.
set -euo pipefail
. "$(dirname "$0")/../env.sh"
use_binaries
mkdir -p "$pki" && cd "$pki"

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
  -subj /CN=cluster -keyout ca.key -out ca.crt 2>/dev/null
openssl ecparam -name prime256v1 -genkey -noout -out sa.key
openssl ec -in sa.key -pubout -out sa.pub 2>/dev/null

cert() { # cert FILE SUBJECT [SAN]
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$2" -keyout "$1.key" -out "$1.csr" 2>/dev/null
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -days 3650 -out "$1.crt" -extfile <(
    echo "extendedKeyUsage=serverAuth,clientAuth"
    [ -z "${3-}" ] || echo "subjectAltName=$3"
  ) 2>/dev/null
}

user() { # user NAME SUBJECT: a certificate, and a kubeconfig that holds it
  cert "$1" "$2"
  local config=("$bin/kubectl" config --kubeconfig="$1.conf")
  "${config[@]}" set-cluster c --server="$(server)" --certificate-authority=ca.crt --embed-certs
  "${config[@]}" set-credentials u --client-certificate="$1.crt" --client-key="$1.key" --embed-certs
  "${config[@]}" set-context c --cluster=c --user=u
  "${config[@]}" use-context c
} >/dev/null

names=DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local
cert apiserver /CN=kube-apiserver "IP:$cp4,IP:$cp6,IP:127.0.0.1,IP:10.96.0.1,IP:fd00:96::1,$names"
cert front-proxy /CN=front-proxy
user admin /O=system:masters/CN=admin
user controller-manager /CN=system:kube-controller-manager
user scheduler /CN=system:kube-scheduler
user proxy /CN=system:kube-proxy
for n in $nodes; do
  user "node$n" "/O=system:nodes/CN=system:node:node$n"
  cert "kubelet$n" "/CN=node$n" "IP:$(node4 "$n"),IP:$(node6 "$n"),DNS:node$n"
done
