#!/usr/bin/env bash
# Prints the folder with prometheus and promtool: those that are installed, or the Debian package's, unpacked into the
# cache and not installed, which would start a service.
set -euo pipefail
. "$(dirname "$0")/../cluster/env.sh"
if installed=$(command -v promtool); then
  dirname "$installed"
  exit
fi
unpacked=$cache/prometheus-$( (. /etc/os-release && echo "$ID $VERSION_ID") | sha256sum | cut -c1-12)
mkdir -p "$cache"
exec 9>"$cache/prometheus-lock" && flock 9
if [ ! -e "$unpacked" ]; then
  command -v apt-get >/dev/null || die "please install prometheus: its own program loads our alerts"
  say "unpacking Debian's prometheus into $unpacked"
  rm -rf "$unpacked.unfinished" && mkdir "$unpacked.unfinished"
  cd "$unpacked.unfinished"
  apt_get update -qq
  apt_get download -qq prometheus >&2
  dpkg -x prometheus_*.deb . && rm prometheus_*.deb
  mv "$unpacked.unfinished" "$unpacked"
fi
keep "$unpacked"
echo "$unpacked/usr/bin"
