# The first process of the machine, once it is a host: runs the command, and switches the machine off. The folder
# /run/vm is the host's too: it holds what to do, and takes the exit status. By busybox, as /run/bin/busybox.
: >/run/vm/booted
export HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/bin
/run/bin/busybox stty -F /dev/$terminal $(/run/bin/busybox cat /run/vm/stty)
PATH=${0%/*}/../../node_modules/.bin:$PATH \
  /run/bin/busybox setsid -c /bin/bash /run/vm/command </dev/$terminal >/dev/$terminal 2>&1
echo $? >/run/vm/status.new
/run/bin/busybox mv /run/vm/status.new /run/vm/status
/run/bin/busybox reboot -f
