#!/usr/bin/env bash
# Kills `up` at several moments of its work and holds `down` to its word: nothing of the cluster is left.
set -uo pipefail
. "$(dirname "$0")/env.sh"
use_binaries
need_root
[ ! -e "$states" ] || die "a cluster is up"

left() { # what is there that was not there before
  ip netns list | grep "^$prefix-"
  ls -d "$states" /sys/fs/cgroup{,/*}/$prefix-* 2>/dev/null
  pgrep -af "$bin/|^(etcd|kube|containerd|/agnhost|/pause|/coredns)|$cluster/(up|node|control-plane)" | grep -v "$$"
  grep -h "$states" /proc/[0-9]*/mountinfo 2>/dev/null
  sysctl $sysctls | diff "$before" - 2>&1
}

before=$(mktemp)
trap 'rm -f "$before"' EXIT
sysctl $sysctls >"$before"
failed=0
for seconds in 0.2 0.7 1.5 3 5 8 12; do
  setsid "$here/scripts/cluster" up --bare >/dev/null 2>&1 &
  up=$!
  sleep "$seconds"
  kill -KILL -- "-$up" 2>/dev/null
  wait "$up" 2>/dev/null
  "$cluster/down.sh"
  found=$(left)
  if [ -z "$found" ]; then
    echo "ok: nothing is left of a cluster whose start was killed after $seconds s"
  else
    echo "not ok: after $seconds s there is left:" && echo "$found" && failed=1
  fi
done
exit $failed
