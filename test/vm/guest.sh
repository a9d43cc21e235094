#!/bin/bash
# Runs in the machine, as its first process, on the host's files: sets up what a host has, runs the command, and
# switches the machine off. The folder `run` is the host's too: it holds what to do, and takes the exit status.
set -u
vm=$(cd "$(dirname "$0")" && pwd)
mount -t sysfs sys /sys
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t tmpfs run /run
mount -t tmpfs -o mode=1777 shm /dev/shm 2>/dev/null || { mkdir /dev/shm && mount -t tmpfs shm /dev/shm; }
mkdir -p /dev/pts && mount -t devpts pts /dev/pts
mkdir -p /run/vm /run/modules /run/bin /lib/modules
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 run /run/vm || echo "guest: no folder to answer to"
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=512000 modules /lib/modules || echo "guest: no modules"

# The host may have no modprobe.
ln -s "$(command -v busybox)" /run/bin/modprobe
echo /run/bin/modprobe >/proc/sys/kernel/modprobe
export PATH=${PATH:-/usr/bin:/bin}:/usr/sbin:/sbin:/run/bin HOME=/root LANG=C.UTF-8
ip link set lo up
hostname vm 2>/dev/null

: >/run/vm/booted
PATH=$vm/../../node_modules/.bin:$PATH
terminal=/dev/ttyS1
stty -F $terminal $(cat /run/vm/stty) 2>/dev/null
setsid -c -w /bin/bash /run/vm/command <$terminal >$terminal 2>&1
echo $? >/run/vm/status.new
mv /run/vm/status.new /run/vm/status
sync
poweroff -f 2>/dev/null || busybox poweroff -f
