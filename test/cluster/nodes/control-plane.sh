#!/usr/bin/env bash
# Runs the control plane, as the first process of its namespaces; up.sh starts it.
set -euo pipefail
. "$(dirname "$0")/../env.sh"
use_binaries
read -r pid _ </proc/self/stat && echo "$pid" >"$state/cp.pid"
mount --make-rprivate / && mount -t proc proc /proc
log=$state/cp; mkdir -p "$log"

supervise "$log/etcd.log" etcd --data-dir "$state/etcd" --unsafe-no-fsync --logger zap --log-level warn
supervise "$log/kube-apiserver.log" kube-apiserver \
  --advertise-address="$(first cp)" --bind-address=:: --etcd-servers=http://127.0.0.1:2379 \
  --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged \
  --service-cluster-ip-range="$(of services)" \
  --client-ca-file="$pki/ca.crt" --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
  --kubelet-certificate-authority="$pki/ca.crt" --kubelet-preferred-address-types=InternalIP \
  --kubelet-client-certificate="$pki/admin.crt" --kubelet-client-key="$pki/admin.key" \
  --requestheader-client-ca-file="$pki/ca.crt" --requestheader-allowed-names=front-proxy \
  --requestheader-extra-headers-prefix=X-Remote-Extra- --requestheader-group-headers=X-Remote-Group \
  --requestheader-username-headers=X-Remote-User \
  --proxy-client-cert-file="$pki/front-proxy.crt" --proxy-client-key-file="$pki/front-proxy.key" \
  --service-account-issuer=https://kubernetes.default.svc.cluster.local \
  --service-account-key-file="$pki/sa.pub" --service-account-signing-key-file="$pki/sa.key"
kubectl=(kubectl --kubeconfig="$pki/admin.conf")
until "${kubectl[@]}" get --raw /readyz >/dev/null 2>&1; do sleep 0.2; done
supervise "$log/kube-controller-manager.log" \
  kube-controller-manager --kubeconfig="$pki/controller-manager.conf" --leader-elect=false \
  --service-cluster-ip-range="$(of services)" --cluster-cidr="$(of pods)" --allocate-node-cidrs=false \
  --use-service-account-credentials --service-account-private-key-file="$pki/sa.key" --root-ca-file="$pki/ca.crt" \
  --cluster-signing-cert-file="$pki/ca.crt" --cluster-signing-key-file="$pki/ca.key"
supervise "$log/kube-scheduler.log" kube-scheduler --kubeconfig="$pki/scheduler.conf" --leader-elect=false
wait
