#!/usr/bin/env bash
# Builds flanneld, its image and the CNI plugin `flannel`, unless the cache holds them; prints their folder.
set -euo pipefail
. "$(dirname "$0")/../env.sh"
use_binaries
version=v0.28.10 sum=h1:jt+uW6XVV01MBb3YFahG7Ue9UE3W6zlNlJMf3JtdcXI=
flannel=$cache/flannel-$( (binaries && key test/cluster/flannel) | sha256sum | cut -c1-12)
exec 9>"$cache/flannel-lock" && flock 9 # one build at a time
if [ ! -e "$flannel/whole" ]; then
  command -v go >/dev/null || die "needs Go 1.26 or newer to build Flannel (once)"
  say "building Flannel: about 2 minutes on two idle cores when nothing is cached"
  mkdir -p "$flannel"
  export CGO_ENABLED=0
  (cd "$cluster/flannel" && go build -trimpath -ldflags "-s -w" -o "$flannel/" tool)
  module=$(cd / && go mod download -json "github.com/flannel-io/flannel@$version")
  [ "$(jq -r .Sum <<<"$module")" = "$sum" ] || die "flannel $version is not what it was: $(jq -r .Sum <<<"$module"), not $sum"
  # A copy is built, without two back ends: the SDK of one is not to be had as a module, the other needs cgo.
  source=$(mktemp -d)
  trap 'rm -rf "$source"' EXIT
  cp -r --no-preserve=mode "$(jq -r .Dir <<<"$module")/." "$source"
  sed -i '/pkg\/backend\/\(tencentvpc\|udp\)"/d' "$source/main.go"
  rm -r "$source/pkg/backend/"{tencentvpc,udp}
  (cd "$source" && go build -trimpath -o "$flannel/flanneld" \
    -ldflags "-s -w -X github.com/flannel-io/flannel/pkg/version.Version=$version" .)
  # What flanneld runs (iptables, nft) is the node's own: its /usr is mounted where the image has links to it.
  "$bin/mkimage" -o "$flannel/flannel.tar" -names "ghcr.io/flannel-io/flannel:$version" -entrypoint /opt/bin/flanneld \
    "$flannel/flanneld=/opt/bin/flanneld" =/tmp =/usr =/etc/alternatives =/run \
    $(for folder in bin sbin lib lib64; do echo "@usr/$folder=/$folder"; done)
  touch "$flannel/whole"
fi
keep "$flannel"
echo "$flannel"
