#!/usr/bin/env bash
# Makes a kernel of Debian ready to boot, unless it is: fetch.sh SERIES. Nothing is installed.
#   vmlinux    unpacked, because unpacking it in the machine takes longer than all the rest of the boot (arm64's is)
#   initrd     busybox, `init` and the modules that lead to the machine's file system
#   modules/   all modules for networks, unpacked too, for modprobe in the machine
# Without SERIES it only asks the archive anew which kernels there are.
set -euo pipefail
. "$(dirname "$0")/env.sh"

# Modules of these folders are kept: 400 MB of drivers are of no use here.
kept="kernel/net kernel/fs/9p kernel/fs/netfs kernel/fs/fscache kernel/fs/overlayfs kernel/drivers/virtio kernel/drivers/net
  kernel/drivers/char kernel/lib kernel/crypto kernel/arch/x86/crypto kernel/arch/arm64/crypto"
needed="virtio_pci 9pnet_virtio 9p overlay"

main() {
  mkdir -p "$cache"
  exec 9>"$cache/lock" && flock 9 # one at a time
  [ $# -gt 0 ] && [ -e "$cache/apt/$(arch_of "$1")/sources.list" ] && [ -n "$(newest "$1")" ] || refresh
  [ $# -gt 0 ] || return 0
  local into
  into=$(ready "$1")
  [ -n "$into" ] || die "Debian has no kernel $1 (scripts/vm list shows those that it has)"
  [ -e "$into/initrd" ] || build "$1" "$into"
  [ "$(arch_of "$1")" = amd64 ] || "$vm/foreign.sh" "$(arch_of "$1")"
}

refresh() {
  [ -e "$keyring" ] || die "needs Debian's keyring $keyring (package debian-archive-keyring), to know its kernels by"
  say "asking $mirror for its kernels"
  local arch suite
  for arch in $architectures; do
    mkdir -p "$cache/apt/$arch/lists/partial" "$cache/apt/$arch/cache/archives/partial"
    : >"$cache/apt/$arch/status"
    for suite in $suites; do
      echo "deb [arch=$arch signed-by=$keyring target=Packages] $mirror $suite main"
    done >"$cache/apt/$arch/sources.list"
    # A suite that is gone is told by apt, and the others are of use without it.
    apt "$arch" apt-get update >&2 || say "not all of $suites could be read"
    list "$arch"
  done >"$cache/kernels.new"
  [ -s "$cache/kernels.new" ] || die "$mirror offers no kernel at all"
  mv "$cache/kernels.new" "$cache/kernels"
}

# What linux-image-amd64 stands for, in each suite.
list() { # list ARCHITECTURE
  local version suite release name=
  [ "$1" = amd64 ] || name=-$1
  apt "$1" apt-cache madison "linux-image-$1" | tr -d ' ' | while IFS='|' read -r _ version suite; do
    suite=${suite##*debian} suite=${suite%%/*}
    release=$(apt "$1" apt-cache show "linux-image-$1=$version" | sed -n 's/^Depends:.*linux-image-\([0-9][^ ]*\).*/\1/p' | head -n 1)
    [ -z "$release" ] || echo "$(sed -E 's/^([0-9]+\.[0-9]+).*/\1/' <<<"$release")$name $release $version $suite"
  done
}

build() { # build KERNEL FOLDER
  need_packages busybox:busybox-static cpio:cpio xz:xz-utils zstd:zstd
  local release version work arch
  arch=$(arch_of "$1")
  read -r _ release version _ <<<"$(newest "$1")"
  say "fetching $release ($version)"
  rm -rf "$cache"/building.*
  work=$cache/building.$$
  trap 'rm -rf "$cache"/building.$$' EXIT
  mkdir -p "$work/packages" "$work/root" "$work/new"
  (cd "$work/packages" && apt "$arch" apt-get download $(packages "$arch" "linux-image-$release") >/dev/null)
  local package
  for package in "$work"/packages/*.deb; do dpkg-deb -x "$package" "$work/root"; done
  unpack_kernel "$(find "$work/root" -path "*$release*" -name "vmlinuz*" -type f | head -n 1)" >"$work/new/vmlinux"
  modules "$work" "$release"
  initrd "$work" "$release" "$arch"
  echo "$release" >"$work/new/release"
  rm -rf "$cache/$1-"[0-9]* # older versions
  mv "$work/new" "$2"
}

# An image, and the packages that newer ones are divided into.
packages() { # packages ARCHITECTURE IMAGE
  echo "$2"
  [ "$1" = amd64 ] || echo busybox-static
  apt "$1" apt-cache depends --no-recommends --no-suggests "$2" |
    sed -n 's/^ *|*Depends: \(linux-\(binary\|modules\)-[0-9].*\)$/\1/p'
}

# The ELF file in a bzImage (Documentation/arch/x86/boot.rst: setup_sects, payload_offset, payload_length), or what is
# an image as it lies there (Documentation/arch/arm64/booting.rst: "ARM\x64" at 56).
unpack_kernel() {
  local sectors offset length start magic
  [ "$(od -An -tx1 -j 56 -N4 "$1" | tr -d ' ')" != 41524d64 ] || { cat "$1" && return; }
  sectors=$(od -An -tu1 -j $((0x1f1)) -N1 "$1") offset=$(od -An -tu4 -j $((0x248)) -N4 "$1")
  length=$(od -An -tu4 -j $((0x24c)) -N4 "$1")
  start=$(((sectors + 1) * 512 + offset))
  magic=$(od -An -tx1 -j "$start" -N4 "$1" | tr -d ' ')
  # The last four bytes tell the size, and are not the compressor's.
  payload() { head -c $((start + length - 4)) "$1" | tail -c +$((start + 1)); }
  case $magic in
    fd377a58) payload "$1" | xz -dc ;;
    28b52ffd) payload "$1" | zstd -dc ;;
    *) die "$1 is compressed by neither xz nor zstd" ;;
  esac
}

modules() { # modules WORK RELEASE
  local from folder
  from=$(echo "$1"/root/{,usr/}lib/modules/"$2" | tr ' ' '\n' | while read -r from; do [ ! -d "$from/kernel" ] || echo "$from"; done | head -n 1)
  mkdir -p "$1/new/modules/$2"
  for folder in $kept; do
    [ ! -d "$from/$folder" ] || (cd "$from" && cp -r --parents "$folder" "$1/new/modules/$2/")
  done
  cp "$from"/modules.builtin* "$from"/modules.order "$1/new/modules/$2/" 2>/dev/null || true # newer packages have none
  find "$1/new/modules" -name '*.ko.xz' -print0 | xargs -0 -r -n 64 xz -dq
  # It looks at /lib/modules below the folder that it is told.
  mkdir -p "$1/depmod/lib" && ln -s "$1/new/modules" "$1/depmod/lib/modules"
  busybox depmod -b "$1/depmod" "$2"
}

initrd() { # initrd WORK RELEASE ARCHITECTURE
  local root=$1/initrd applet module number=10 busybox
  busybox=$(command -v busybox)
  [ "$3" = amd64 ] || busybox=$1/root/bin/busybox
  mkdir -p "$root"/{bin,modules,proc,dev,lower,upper,root}
  cp "$busybox" "$root/bin/busybox"
  for applet in sh cat cp hostname insmod ip ln mkdir mount reboot switch_root; do ln -s busybox "$root/bin/$applet"; done
  cp "$vm/init" "$root/init"
  in_order "$1/new/modules/$2" $needed | awk '!seen[$0]++' | while read -r module; do
    cp "$1/new/modules/$2/$module" "$root/modules/$((number++))-${module##*/}"
  done
  (cd "$root" && find . | cpio -o -H newc --quiet) >"$1/new/initrd"
}

# in_order FOLDER MODULE...: each module after those that it needs. What is no module is part of this kernel.
in_order() {
  local module line file
  for module in "${@:2}"; do
    line=$(grep -E "(^|/)$module\.ko:" "$1/modules.dep" || true)
    file=${line%%:*}
    [ -z "$file" ] || in_order "$1" $(for needs in ${line#*:}; do basename "$needs" .ko; done)
    [ -z "$file" ] || echo "$file"
  done
}

main "$@"
