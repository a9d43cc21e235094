#!/usr/bin/env bash
# The first process of the box: the files of `engine`, under what is written in $state/box, with a docker daemon. Only
# the cache, the state and this checkout are the machine's.
set -euo pipefail
. "$(dirname "$0")/env.sh"

v2() { [ -e /sys/fs/cgroup/cgroup.controllers ]; }

own_cgroups() { # in every hierarchy; version 2 is one
  local c hierarchies=(/sys/fs/cgroup/*/)
  ! v2 || hierarchies=(/sys/fs/cgroup/)
  for c in "${hierarchies[@]}"; do
    mkdir -p "$c$prefix-box"
    v2 || [ ! -e "$c/cpuset.cpus" ] || for f in cpuset.cpus cpuset.mems; do cat "$c$f" >"$c$prefix-box/$f"; done
    # All of the box together would weigh as much as one other process of this machine: let it weigh as much as thirty.
    [ ! -e "$c$prefix-box/cpu.shares" ] || echo 30720 >"$c$prefix-box/cpu.shares"
    [ ! -e "$c$prefix-box/cpu.weight" ] || echo 3000 >"$c$prefix-box/cpu.weight"
    echo 0 >"$c$prefix-box/cgroup.procs"
  done
}

mount_cgroups() { # mount_cgroups FOLDER, from this namespace's own on
  local c
  if v2; then # a cgroup that gives controllers to others may have no process of its own
    mount -t cgroup2 cgroup2 "$1"
    mkdir "$1/init" && echo 0 >"$1/init/cgroup.procs"
    for c in $(cat "$1/cgroup.controllers"); do echo "+$c" >"$1/cgroup.subtree_control"; done
    return
  fi
  mount -t tmpfs -o mode=755 tmpfs "$1"
  for c in /sys/fs/cgroup/*/; do
    c=$(basename "$c") && mkdir "$1/$c"
    case $c in
      unified) mount -t cgroup2 cgroup2 "$1/$c" ;;
      systemd) mount -t cgroup -o none,name=systemd cgroup "$1/$c" ;;
      *) mount -t cgroup -o "$c" cgroup "$1/$c" ;;
    esac
  done
}

if [ "${1-}" != inside ]; then
  read -r pid _ </proc/self/stat && echo "$pid" >"$state/box.pid"
  own_cgroups
  exec unshare --cgroup "$0" inside
fi

mount --make-rprivate /
mkdir -p "$state"/box/{upper,work,root}
mount -t overlay overlay -o "lowerdir=$roots/engine,upperdir=$state/box/upper,workdir=$state/box/work" "$state/box/root"
cd "$state/box/root"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount_cgroups sys/fs/cgroup
mount --rbind /dev dev
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
for path in "$here" "$cache" "$states"; do mkdir -p ".$path" && mount --bind "$path" ".$path"; done
echo nameserver 10.0.2.3 >etc/resolv.conf # slirp4netns answers there
echo "127.0.0.1 localhost" >etc/hosts
mkdir old && pivot_root . old && umount -l /old
ip link set lo up
exec 8>"$built_kind/box" && flock -n 8 || die "another box has docker's files: one kind cluster at a time"
for old in "$built_kind"/docker-*; do [ "$old" = "$docker" ] || rm -rf "$old"; done # of an older images.sh
exec docker-init -- dockerd --data-root "$docker" --host unix:///run/docker.sock
