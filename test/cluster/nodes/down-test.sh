#!/usr/bin/env bash
# Kills `up` at several moments of its work, leaves it at work at others, reboots a node, and holds `down` to its word:
# nothing of the cluster is left. Other clusters may be up meanwhile.
set -uo pipefail
SLUICE_STATE=$(mktemp -u /var/lib/sluice-down-test.XXXXXX)
export SLUICE_STATE SLUICE_CLUSTER=down-test
. "$(dirname "$0")/../env.sh"
need_root

processes() { # all that were started with our SLUICE_STATE, whoever is their parent by now
  local file
  for file in $(grep -lsz "^SLUICE_STATE=$states\$" /proc/[0-9]*/environ); do
    [ ! -e "$file" ] || { echo "process ${file//[!0-9]/}: $(tr '\0' ' ' <"${file%environ}cmdline")"; } 2>/dev/null
  done
}
left() { # what is there that was not there before
  ip netns list | grep "^$prefix-"
  ls -d "$states" /sys/fs/cgroup{,/*}/$prefix-* 2>/dev/null
  processes
  grep -h "$states" /proc/[0-9]*/mountinfo 2>/dev/null
  sysctl $sysctls | diff "$before" - 2>&1
}
down_leaves_nothing() { # down_leaves_nothing AFTER WHAT
  local found
  "$cluster/nodes/down.sh"
  found=$(left)
  if [ -z "$found" ]; then
    echo "ok: nothing is left of a cluster $1"
  else
    echo "not ok: of a cluster $1 there is left:" && echo "$found" && failed=1
  fi
}

before=$(mktemp)
trap '"$cluster/nodes/down.sh"; rm -f "$before"' EXIT
sysctl $sysctls >"$before"
failed=0
for seconds in 0.2 0.7 1.5 3 5 8 12; do
  setsid "$here/scripts/cluster" up --bare >/dev/null 2>&1 &
  up=$!
  sleep "$seconds"
  kill -KILL -- "-$up" 2>/dev/null
  wait "$up" 2>/dev/null
  down_leaves_nothing "whose start was killed after $seconds s"
done
for seconds in 0 1 4 9; do
  "$here/scripts/cluster" up --bare >/dev/null 2>&1 &
  until [ -e "$state/options" ] || [ -z "$(jobs -r)" ]; do sleep 0.1; done
  sleep "$seconds"
  [ -n "$(jobs -r)" ] || { echo "not ok: up ended by itself" && failed=1; }
  down_leaves_nothing "that was still coming up after $seconds s"
  wait
done
if "$here/scripts/cluster" up --bare >/dev/null 2>&1 && "$here/scripts/cluster" reboot node1; then
  [ -n "$(left)" ] || { echo "not ok: this test sees nothing of a cluster that is up" && failed=1; }
  down_leaves_nothing "with a node that was rebooted"
else
  echo "not ok: the cluster did not come up, or its node1 not again" && failed=1
fi
exit $failed
