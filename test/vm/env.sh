# What the scripts of the virtual machines share; sourced, not run.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$here/scripts/lib.sh"
vm=$here/test/vm
cache=${SLUICE_VM_CACHE:-/var/cache/sluice/vm}
mirror=${SLUICE_DEBIAN_MIRROR:-http://deb.debian.org/debian}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
export PATH=$PATH:/usr/sbin:/sbin

# Where Debian keeps kernels, oldest first. What a suite does not offer any more is left out of the list.
suites="bullseye bookworm bookworm-backports trixie-backports"
tested="6.1 6.12" # by `scripts/vm test`
architectures="amd64 arm64"

# A kernel of another architecture than this machine's says so in its name: 6.1-arm64.
arch_of() { case $1 in *-arm64) echo arm64 ;; *) echo amd64 ;; esac; }

# apt ARCHITECTURE NAME ARGS...: apt-get or apt-cache with sources, lists and packages of our own: the machine's stay as
# they are, and what is installed on it does not count.
apt() {
  local of=$cache/apt/$1
  "$2" -q -o APT::Architecture="$1" -o APT::Architectures="$1" -o Dir::State::status="$of/status" \
    -o Dir::Etc::sourcelist="$of/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$of/lists" \
    -o Dir::Cache="$of/cache" -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=3 "${@:3}"
}

# What apt knows: lines `KERNEL RELEASE VERSION SUITE`, such as `6.1-arm64 6.1.0-50-arm64 6.1.176-1 bookworm`.
known() { cat "$cache/kernels" 2>/dev/null || true; }

# The newest of its series; nothing where there is none.
newest() { known | awk -v series="$1" '$1 == series' | sort -V -k3,3 | tail -n 1; }

# The folder of a kernel that is ready to boot: named by its version and by the scripts that made it.
ready() {
  local release version
  read -r _ release version _ <<<"$(newest "$1")"
  [ -z "${release-}" ] || echo "$cache/$1-$release-$version-$(cat "$vm"/{fetch.sh,init} | sha256sum | cut -c1-8)"
}

# What a machine of another architecture has in place of this machine's files: Debian's packages of that architecture,
# and the modules of package-lock.json for it (foreign.sh makes both).
foreign_files() { echo "$cache/files-$1-$(sha256sum "$vm/foreign.sh" | cut -c1-8)"; }
foreign_modules() { echo "$cache/modules-$1-$(cat "$vm/foreign.sh" "$here/package-lock.json" | sha256sum | cut -c1-8)"; }
