#!/usr/bin/env bash
# Takes the cluster down and removes all that up.sh made, however far it came.
set -uo pipefail
. "$(dirname "$0")/env.sh"

# A node's first process is in its network namespace. Killed, it takes along all the others of its PID namespace,
# with the mounts that they share.
namespaces=$(ip netns list | grep -oE "^$prefix-(cp|node[0-9]+)\b")
for ns in $namespaces; do
  for ((i = 0; i < 100; i++)); do
    processes=$(ip netns pids "$ns")
    [ -n "$processes" ] || break
    kill -KILL $processes 2>/dev/null
    sleep 0.1
  done
  ip netns del "$ns"
done

for ((i = 0; i < 100; i++)); do
  find /sys/fs/cgroup -depth -type d -path "/sys/fs/cgroup*/$prefix-node[0-9]*" -exec rmdir {} + 2>/dev/null
  [ -n "$(find /sys/fs/cgroup -maxdepth 2 -type d -name "$prefix-node[0-9]*" -print -quit)" ] || break
  sleep 0.1 # a cgroup stays busy for a moment after its last process
done

rm -rf "$state"
# The last cluster sets back what the first one's kubelets have set for the whole machine.
if [ -z "$(ls -d "$states"/*/ 2>/dev/null)" ]; then
  [ ! -e "$states/sysctl" ] || sysctl -qp "$states/sysctl"
  rm -rf "$states"
fi
