#!/bin/bash
# In a machine: the agent's image as it was built for it, unpacked in /run/vm/image, programs this kernel and takes it all
# back. Prints a line for each promise.
set -u
root=/run/vm/image
failed=0
mkdir -p "$root"/{proc,dev,sys,run,tmp} && cp -r examples/shop "$root/tmp/shop"
for folder in proc dev sys; do mount --rbind /$folder "$root/$folder"; done
mount -t tmpfs tmpfs "$root/run"
said=/tmp/said

promise() { # promise TITLE COMMAND...
  if "${@:2}" >"$said" 2>&1; then echo "ok $1"; else echo "not ok $1: $(head -c 2000 "$said")" && failed=1; fi
}
node() { chroot "$root" /usr/local/bin/node "$@"; }
sluice() { node /app/dist/cli/main.js "$@"; }
socket="--socket /run/sluice.sock"
until_programmed() {
  for _ in $(seq 400); do nft list table ip sluice 2>/dev/null | grep -q 'chain in-' && return; sleep 1; done
  cat /tmp/log && return 1
}
ended() { kill "$agent" && wait "$agent"; }
nothing_left() { sluice uninstall && [ -z "$(nft list tables)" ]; }
arch() { [ "$(node -p process.arch)" = "$(uname -m | sed 's/aarch64/arm64/; s/x86_64/x64/')" ]; }
cni() { CNI_COMMAND=VERSION chroot "$root" /app/dist/cni/sluice-cni </dev/null | grep supportedVersions; }

promise "its Node is of this architecture" arch
promise "its CNI plugin runs" cni
chroot "$root" /usr/local/bin/node /app/dist/cli/main.js agent --node node1 --manifests /tmp/shop $socket \
  --metrics-address none --start-gate off >/tmp/log 2>&1 &
agent=$!
promise "its agent puts policy in force" until_programmed
promise "its inspect finds what is desired" sluice inspect $socket
promise "its agent ends as it is told to" ended
promise "its uninstall leaves nothing behind" nothing_left
exit $failed
