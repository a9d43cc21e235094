#!/usr/bin/env bash
# Boots a kernel on this machine's files and runs a command there: boot.sh SERIES COMMAND ARGUMENT...
# It ends with the command's status; 70 where the machine died or hung. Nothing that the command writes stays, but
# what it writes into /run/vm, which is $SLUICE_VM_RUN here (its console is there too, as `console`).
set -euo pipefail
. "$(dirname "$0")/env.sh"
seconds=${SLUICE_VM_SECONDS:-3600}     # for the command
boot_seconds=${SLUICE_VM_BOOT_SECONDS:-120} # for the boot, before it is tried again
boots=3

for folder in "$PWD" "$here"; do
  case $folder/ in
    /tmp/* | /run/* | /dev/* | /sys/* | /proc/*)
      die "$folder is not there in the machine, whose /$(cut -d / -f 2 <<<"$folder") is its own: run it from a checkout elsewhere, such as /root" ;;
  esac
done

run=${SLUICE_VM_RUN-}
if [ -z "$run" ]; then run=$(mktemp -d) && trap 'rm -rf "$run"' EXIT; fi
mkdir -p "$run"
kernel=$(ready "$1")
[ -e "$kernel/initrd" ] || die "$1 was not fetched (test/vm/fetch.sh $1)"
arch=$(arch_of "$1")
shift

printf 'cd %q && exec %s\n' "$PWD" "$(printf '%q ' "$@")" >"$run/command"
if [ -t 0 ]; then
  read -r rows columns < <(stty size) && echo "rows $rows cols $columns" >"$run/stty"
else
  echo -opost >"$run/stty"
fi

cpus=${SLUICE_VM_CPUS:-2}
line="quiet loglevel=4 panic=-1 nokaslr mitigations=off random.trust_cpu=on cryptomgr.notests rcupdate.rcu_expedited=1"
line+=" init_on_alloc=0 here=$here"

# shared TAG FOLDER OPTIONS: a folder of this machine there
shared() { folders+=(-fsdev "local,id=$1,path=$2,security_model=none,$3" -device "virtio-9p-pci,fsdev=$1,mount_tag=$1"); }
folders=()
shared modules "$kernel/modules" readonly=on
shared run "$run" multidevs=remap

amd64() {
  # A clock that is trusted, no checks of what a real machine might have wrong, and no waiting for grace periods. ACPI is
  # a program that would have to be interpreted. Without it processors are found in a table of sockets, the timer that
  # the clock is measured by has to be named, and the machine is switched off by a reboot.
  line+=" console=ttyS0 terminal=ttyS1 tsc=reliable no_timer_check lpj=4000000 acpi=off pmtmr=0x608"
  shared host / readonly=on,multidevs=remap
  program=(qemu-system-x86_64 -M pc -cpu max -smp "$cpus,sockets=$cpus" -serial "file:$run/console" -serial chardev:terminal)
}

# Pointers that are signed cost an emulated processor half of its time, unless by a hash that is none.
arm64() {
  line+=" console=ttyAMA0 terminal=ttyS0 foreign=1"
  shared host "$(foreign_files arm64)" readonly=on,multidevs=remap
  shared checkout "$here" readonly=on,multidevs=remap
  shared node_modules "$(foreign_modules arm64)" readonly=on,multidevs=remap
  program=(qemu-system-aarch64 -M virt -cpu "max,pauth-impdef=on" -smp "$cpus" -serial "file:$run/console" -device "pci-serial,chardev=terminal")
}
"$arch"

machine() {
  exec "${program[@]}" -accel "tcg,thread=multi" -m "${SLUICE_VM_MB:-3072}" -nodefaults -no-user-config -no-reboot -display none \
    -kernel "$kernel/vmlinux" -initrd "$kernel/initrd" -append "$line" -chardev stdio,id=terminal,signal=off "${folders[@]}"
}

seconds_between() { awk -v from="$1" -v to="$2" 'BEGIN { printf "%.1f", to - from }'; }

# Ends a machine that does not boot, or whose command takes too long.
watchdog() { # watchdog PID
  local waited=0
  while [ ! -e "$run/booted" ] && [ $waited -lt $((boot_seconds * 10)) ]; do sleep 0.1 && waited=$((waited + 1)); done
  if [ -e "$run/booted" ]; then
    sleep "$seconds"
    echo "no end within $seconds s" >"$run/ended"
  fi
  kill "$1" 2>/dev/null
}

for try in $(seq $boots); do
  rm -f "$run"/{booted,status,ended,console}
  started=$EPOCHREALTIME
  if [ -t 0 ]; then machine <&0 & else machine </dev/null & fi
  pid=$!
  watchdog $pid >/dev/null 2>&1 &
  dog=$!
  trap 'kill $pid $(pgrep -P $dog) $dog 2>/dev/null; exit 143' INT TERM
  wait $pid || true
  pkill -P $dog 2>/dev/null || true
  kill $dog 2>/dev/null || true
  wait $dog 2>/dev/null || true
  [ ! -e "$run/booted" ] || say "the command began $(seconds_between "$started" "$(stat -c %.Y "$run/booted")") s after the machine was switched on"
  [ ! -e "$run/status" ] || exit "$(cat "$run/status")"
  [ ! -e "$run/booted" ] || break
  say "the machine did not come up (try $try of $boots)"
done
reason=$(cat "$run/ended" 2>/dev/null || echo "it died, or never came up")
printf 'vm: %s; its console said last:\n' "$reason" >&2
tail -n 20 "$run/console" >&2
exit 70
