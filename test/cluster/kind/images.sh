#!/usr/bin/env bash
# In the box: makes the images that a registry would have, unless docker has them: the two that the Dockerfile names, and
# kindest/node, by `kind build node-image`.
set -euo pipefail
. "$here/scripts/lib.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
have() { docker image inspect "$1" >/dev/null 2>&1; }
argument() { sed -n "s/^ARG $1=//p" "$here/Dockerfile"; }

path='ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
build_base() { # Debian with Node and npm
  local certificates='ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt'
  tar -C "$roots/engine" -c . | docker import --change "$path" --change "$certificates" - "$1"
}

base() { # the libraries of C and C++
  local root=$roots/engine
  chroot "$root" dpkg -L libc6 libgcc-s1 libstdc++6 | sed -n '/gconv/d; s|^/\(usr/lib.*\.so.*\)|\1|p' >"$work/libraries"
  (cd "$root" && ls -d lib*) >>"$work/libraries" # links to what is in usr/
  tar -C "$root" -cT "$work/libraries" | docker import --change "$path" - "$1"
}

kind_base() {
  tar -C "$roots/node" -c . | docker import - kindest/base:files
  docker build -q -t kindest/base:local - <<'D'
FROM kindest/base:files
ENV container=docker
STOPSIGNAL SIGRTMIN+3
ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]
D
}

# What kube-proxy calls, with what it needs of the node's libraries.
proxy_tools() {
  chroot "$roots/node" bash -euc '
    programs="/usr/sbin/xtables-nft-multi /usr/sbin/nft"
    libraries=$(ldd $programs /usr/lib/*/xtables/*.so | grep -oE "/\S+" | grep -v : | sort -u)
    tar -ch $programs $libraries usr/lib/*/xtables
    tar -c usr/sbin/ip*tables*-nft*' 2>/dev/null | tar -C "$1" -xi
  local c
  for c in iptables ip6tables; do
    for s in "" -save -restore; do ln -sf "$c-nft$s" "$1/usr/sbin/$c$s"; done
  done
}

# As a release of Kubernetes is packed. kind loads its four archives, whatever is in them, and pulls what none of them
# has: so all that a node needs is in these four, what is never run as a program that sleeps.
server() {
  local root=$work/server/kubernetes images=$work/server/kubernetes/server/bin c needed
  mkdir -p "$images" "$work/tools"
  echo "$kubernetes" >"$root/version"
  for c in kubeadm kubelet kubectl; do printf '#!/bin/sh\nexec /usr/local/bin/kube %s "$@"\n' $c >"$images/$c"; done

  proxy_tools "$work/tools"
  needed=$("$bin/kubeadm" config images list --kubernetes-version "$kubernetes")
  image() { "$bin/mkimage" -o "$images/$1.tar" "${@:2}"; }
  image kube-apiserver -names "$(grep '/kube-\|/etcd' <<<"$needed" | xargs)" -env PATH=/usr/local/bin:/usr/sbin:/usr/bin \
    "$bin/kube=/usr/local/bin/kube" \
    $(for c in etcd kube-{apiserver,controller-manager,scheduler,proxy}; do echo "@kube=/usr/local/bin/$c"; done) \
    "$work/tools=/" =/tmp
  image kube-controller-manager -names "$(grep /coredns <<<"$needed")" -entrypoint /coredns "$bin/coredns=/coredns"
  image kube-scheduler -names "$(asleep | xargs)" -entrypoint /pause -env PATH=/ \
    "$bin/pause=/pause" @pause=/local-path-provisioner
  cp "$built/images/agnhost.tar" "$images/kube-proxy.tar"
  tar -C "$work/server" -c kubernetes | gzip -1 >"$work/server.tar.gz"
}

asleep() { # kind's pause, network and storage
  local kind=$built_kind/module
  sed -n 's/.*sandbox_image = "\(.*\)"/\1/p' "$kind/images/base/files/etc/containerd/config.toml"
  sed -n 's/^const .*Image = "\(.*\)"/\1/p' "$kind"/pkg/build/nodeimage/const_*.go
}

node_image() {
  have kindest/base:local || kind_base
  server
  kind build node-image --type file --base-image kindest/base:local --image "$1" "$work/server.tar.gz"
}

for image in "build_base $(argument BUILD_BASE)" "base $(argument BASE)" "node_image kindest/node:$kubernetes"; do
  have "${image#* }" || { say "${image#* }" && $image; }
done
