#!/usr/bin/env bash
# Makes, from Debian's packages, npm's and Go's modules, unless the cache holds them: kind, and the files of two systems.
#   engine  has docker, a compiler and Node: the box runs on it, and the Dockerfile's first stage
#   node    has what kind's images/base/Dockerfile installs and copies, without network storage and rootless
set -euo pipefail
. "$(dirname "$0")/env.sh"
exec 9>"$cache/kind-lock" && flock 9 # one build at a time
[ ! -e "$roots/whole" ] || exit 0
need_packages debootstrap:debootstrap npm:npm
for old in "$cache"/kind-????????????/; do # 3 GB each; a box that runs has its lock
  [ "$old" = "$built_kind/" ] || [ ! -d "$old" ] || flock -n "$old/box" rm -rf "$old" || true
done
mkdir -p "$roots" "$cache/debs"

debian() { # debian NAME PACKAGES, with commas
  [ ! -e "$roots/$1.whole" ] || return 0
  say "Debian trixie: $1"
  rm -rf "${roots:?}/$1"
  debootstrap --cache-dir="$cache/debs" --variant=minbase --include="ca-certificates,iproute2,iptables,procps,$2" \
    trixie "$roots/$1" >"$roots/$1.log"
  rm -rf "$roots/$1"/var/cache/apt/archives/*.deb "$roots/$1"/usr/share/{doc,man,locale}/*
  # This machine may reach registries through something with a certificate of its own.
  cp /etc/ssl/certs/ca-certificates.crt "$roots/$1/etc/ssl/certs/"
  touch "$roots/$1.whole"
}

engine() {
  local lib=$roots/engine/usr/local/lib node
  debian engine docker.io,docker-cli,docker-buildx,gcc,libc6-dev,libstdc++6
  node=node-linux-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')
  npm install --prefix "$lib" --ignore-scripts --no-audit --no-fund --loglevel=error "$node@24" npm@11
  ln -sf "../lib/node_modules/$node/bin/node" ../lib/node_modules/npm/bin/npm-cli.js "$lib/../bin/"
  mv "$lib/../bin/npm-cli.js" "$lib/../bin/npm"
}

node() {
  local root=$roots/node files=$built_kind/module/images/base/files
  debian node systemd,conntrack,nftables,ethtool,kmod,libseccomp2,pigz,curl,jq,runc
  cp -r --no-preserve=mode,ownership "$files/." "$root/"
  chmod 755 "$root"/usr/local/bin/* "$root"/kind/bin/*
  install "$bin"/{kube,containerd,containerd-shim-runc-v2,ctr} "$root/usr/local/bin/"
  install -D -t "$root/opt/cni/bin" "$bin"/{ptp,loopback,host-local,portmap}
  mkdir -p "$root/etc/kubernetes/manifests"
  chroot "$root" bash -euc "$(declare -f base_image); base_image" >"$roots/base.log" 2>&1
  this_machine "$root"
}

# What the RUN lines of kind's Dockerfile do.
base_image() {
  cd /lib/systemd/system
  rm -f sysinit.target.wants/systemd-tmpfiles-setup.service multi-user.target.wants/* /etc/systemd/system/*.wants/* \
    local-fs.target.wants/* sockets.target.wants/*udev* sockets.target.wants/*initctl* basic.target.wants/*
  echo ReadKMsg=no >>/etc/systemd/journald.conf
  ln -sf /usr/lib/systemd/systemd /sbin/init
  systemctl enable kubelet containerd undo-mount-hacks
  systemctl mask systemd-binfmt
  ctr oci spec | jq '.hooks.createContainer += [{path: "/kind/bin/mount-product-files.sh"}] | del(.process.rlimits)' \
    >/etc/containerd/cri-base.json
}

# What machines need that are not like kind's own: cgroup v1, and root without CAP_SYS_RESOURCE (bit 24).
this_machine() {
  [ -e /sys/fs/cgroup/cgroup.controllers ] || sed -i 's/$/ --fail-cgroupv1=false/' "$1/etc/default/kubelet"
  ((0x$(sed -n 's/^CapBnd:\t//p' /proc/self/status) >> 24 & 1)) ||
    sed -i 's/restrict_oom_score_adj = false/restrict_oom_score_adj = true/' "$1/etc/containerd/config.toml"
  echo net.ipv4.ip_forward=1 >"$1/etc/sysctl.d/20-forward.conf" # docker has set it outside, and not in a box
}

say "kind"
(cd "$room" && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$built_kind/bin/" tool)
rm -rf "$built_kind/module" && cp -r --no-preserve=mode "$(cd "$room" && go list -m -f '{{.Dir}}' sigs.k8s.io/kind)" "$built_kind/module"
engine
node
touch "$roots/whole"
