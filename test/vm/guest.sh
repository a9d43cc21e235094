# Makes a host of the machine, still in the initrd and by its commands: each that came from the host's files would be
# read over 9p and linked, and twenty of them took half of the boot. Sourced by init.
root=/root

# The host's files are read-only, with a layer of memory above them.
mount -t tmpfs -o mode=755 upper /upper || fail "no memory for what is written"
# layer NAME LOWER FOLDER
layer() {
  mkdir -p "/upper/$1/files" "/upper/$1/work" "$3"
  mount -t overlay -o "lowerdir=$2,upperdir=/upper/$1/files,workdir=/upper/$1/work" "$1" "$3" || fail "no overlay of $1"
}
layer root /lower $root
if [ -n "$foreign" ]; then # the checkout, with modules of this architecture
  layer checkout /checkout "$root$here"
  host node_modules /node_modules
  layer node_modules /node_modules "$root$here/node_modules"
fi
mount --move /proc $root/proc && mount --move /dev $root/dev || fail "no /proc or /dev in the host's file system"
mount -t sysfs sys $root/sys
mount -t tmpfs -o mode=1777 tmp $root/tmp
mount -t tmpfs run $root/run
mkdir -p $root/dev/shm $root/dev/pts $root/run/vm $root/run/bin $root/lib/modules
mount -t tmpfs -o mode=1777 shm $root/dev/shm
mount -t devpts pts $root/dev/pts
# The host's too: what to do, and how it ended.
mount -t 9p -o $nine run $root/run/vm || fail "no folder to answer to"
host modules $root/lib/modules

# The host may have no modprobe.
cp /bin/busybox $root/run/bin/
ln -s busybox $root/run/bin/modprobe
echo /run/bin/modprobe >$root/proc/sys/kernel/modprobe
ip link set lo up
hostname vm
exec switch_root $root /run/bin/busybox sh "$here/test/vm/command.sh"
