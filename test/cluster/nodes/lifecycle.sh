# How a place of the cluster (cp, node1, …) begins and how it ends; sourced after env.sh.

start() { # start PLACE SCRIPT...: the script as the first process of its own namespaces
  setsid nsenter --net="/run/netns/$prefix-$1" unshare --mount --uts --ipc --pid --fork --kill-child "${@:2}" \
    </dev/null >>"$state/up.log" 2>&1 &
}

start_node() { start "node$1" "$cluster/nodes/node.sh" "$1"; } # start_node N

# end_up: the `up` of this cluster that is still at work, with all that it has started
end_up() {
  local pid born
  [ -e "$state/up.pid" ] || return 0
  read -r pid born <"$state/up.pid"
  [ -z "$born" ] || [ "$(born "$pid")" != "$born" ] || end_tree "$pid"
}
note_up() { echo "$$ $(born $$)" >"$state/up.pid"; }
# When a process began: with its id, it is no other's. After its name, which may have spaces, that is the 20th field.
born() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20; }
end_tree() { # end_tree PID: from the top, and none of them starts another meanwhile
  local child
  kill -STOP "$1" 2>/dev/null || return 0
  for child in $(pgrep -P "$1"); do end_tree "$child"; done
  kill -KILL "$1"
}

# end NAMESPACE: its first process is in this network namespace. Killed, it takes along all the others of its PID
# namespace, with the mounts that they share.
end() {
  local i processes
  for ((i = 0; i < 100; i++)); do
    processes=$(ip netns pids "$1")
    [ -n "$processes" ] || break
    kill -KILL $processes 2>/dev/null || true # some of them are ended by another's end
    sleep 0.1
  done
  ip netns del "$1"
}

# remove_cgroups PATTERN: those of such a name, with what is in them, in every hierarchy
remove_cgroups() {
  local i top=/sys/fs/cgroup
  for ((i = 0; i < 100; i++)); do
    find $top -depth -type d \( -path "$top*/$1" -o -path "$top*/$1/*" \) -exec rmdir {} + 2>/dev/null || true
    [ -n "$(find $top -maxdepth 2 -type d -name "$1" -print -quit)" ] || break
    sleep 0.1 # a cgroup stays busy for a moment after its last process
  done
}

wait_for() { # wait_for SECONDS WHAT COMMAND...
  local deadline=$((SECONDS + $1))
  until "${@:3}" >/dev/null 2>&1; do
    [ $SECONDS -lt $deadline ] || die "no $2 within $1 s; see $state/up.log, $state/cp and $state/node*/var/log"
    sleep 0.1
  done
}
