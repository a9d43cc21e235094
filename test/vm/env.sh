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

# apt NAME ARGS...: apt-get or apt-cache with sources, lists and packages of our own: the machine's stay as they are.
apt() {
  "$1" -q -o Dir::Etc::sourcelist="$cache/apt/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$cache/apt/lists" \
    -o Dir::Cache="$cache/apt/cache" -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=3 "${@:2}"
}

# What apt knows: lines `SERIES RELEASE VERSION SUITE`, such as `6.1 6.1.0-50-amd64 6.1.176-1 bookworm`.
known() { cat "$cache/kernels" 2>/dev/null || true; }

# The newest of a series; nothing where there is none.
newest() { known | awk -v series="$1" '$1 == series' | sort -V -k3,3 | tail -n 1; }

# The folder of a kernel that is ready to boot: named by its version and by the scripts that made it.
ready() {
  local release version
  read -r _ release version _ <<<"$(newest "$1")"
  [ -z "${release-}" ] || echo "$cache/$1-$release-$version-$(cat "$vm"/{fetch.sh,init} | sha256sum | cut -c1-8)"
}
