# Functions that the scripts share: print progress, and install what is missing. Sourced, with `here` set to the
# checkout.

say() { printf '\033[2m== %s\033[0m\n' "$*" >&2; }

die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# usage prints the comment that heads the script.
usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; }

# misused WHAT: the words that were given mean nothing here. Nothing has been done yet.
misused() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  usage >&2
  exit 2
}

# help_if_asked "$@": where the first word asks for help, prints it, and ends the script.
help_if_asked() { case ${1-} in -h | --help | help) usage && exit 0 ;; esac; }

need_root() {
  [ "$(uname -s)" = Linux ] || die "needs Linux"
  [ "$(id -u)" = 0 ] || die "needs root: it makes network namespaces (try: sudo $0)"
}

# need_packages COMMAND:PACKAGE ... installs the Debian packages whose command, or file, is missing.
need_packages() {
  local missing=() pair
  for pair in "$@"; do
    is_there "${pair%%:*}" || missing+=("${pair#*:}")
  done
  [ ${#missing[@]} -eq 0 ] && return
  command -v apt-get >/dev/null || die "please install: ${missing[*]}"
  say "installing ${missing[*]}"
  apt_get update -qq
  DEBIAN_FRONTEND=noninteractive apt_get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  for pair in "$@"; do is_there "${pair%%:*}" || die "${pair%%:*} is still missing, although ${pair#*:} was installed"; done
}

# is_there COMMAND-OR-FILE
is_there() { command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ] || [ -e "$1" ]; }

# apt-get gives up where another one is at work: these wait for one another.
apt_get() { flock /run/sluice-packages.lock apt-get "$@"; }

# The dependencies of package-lock.json, once for each version of it.
need_modules() {
  command -v npm >/dev/null || die "needs Node.js 18 or newer with npm"
  # npm would empty the folder behind the link, which is another checkout's.
  [ ! -L "$here/node_modules" ] || die "node_modules is a link: remove it, and they are installed here"
  local stamp="$here/node_modules/.sluice-installed" lock
  exec {lock}<"$here/package-lock.json" && flock "$lock" # one installation at a time
  # npm writes this file when it has finished, whoever started it.
  if ! cmp -s "$here/package-lock.json" "$stamp" && ! [ "$here/node_modules/.package-lock.json" -nt "$here/package-lock.json" ]; then
    say "installing npm packages"
    (cd "$here" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
    cp "$here/package-lock.json" "$stamp"
  fi
  exec {lock}<&-
  PATH="$here/node_modules/.bin:/usr/sbin:/sbin:$PATH"
  node -e 'process.exit(parseInt(process.versions.node, 10) >= 22 ? 0 : 1)' ||
    die "no Node.js 22 or newer: npm brings one for x64 and arm64 (is --omit=optional set?)"
}

# dist/, unless it is newer than every source.
need_build() {
  if [ ! -e "$here/dist/.built" ] || [ -n "$(find "$here/src" "$here/web" "$here/scripts/page.ts" "$here/tsconfig.json" "$here/tsconfig.build.json" "$here/package.json" "$here/rolldown.config.mjs" "$here/rolldown.agent.mjs" -newer "$here/dist/.built" -print -quit)" ]; then
    say "building dist/"
    (cd "$here" && npm run --silent build)
  fi
}

# count_vitest REPORT [AGAIN] prints what vitest's JSON report comes to: N passed, N failed. A run that counted nothing has
# failed. What of it was run AGAIN counts as it ended then.
count_vitest() { node "$here/scripts/counttests.ts" total "$@"; }

# pass_tests REPORT COMMAND...: runs vitest's tests, says which took longest, and prints their count in its last line.
# Where no more than three files have failed they are run once more, by themselves: a test that met a busy machine passes
# then, and is listed as unsteady; a fault fails again. The array `chosen` has what chooses tests, where not all are meant;
# the array `projects` those of vitest's projects of which each has to pass a test, and may skip none without a reason.
pass_tests() {
  local report=$1 status=0 failed=()
  local run=("${@:2}" --reporter="$here/scripts/annotate.ts" --reporter=default --reporter=json)
  rm -f "$report" "$report.again"
  "${run[@]}" --outputFile.json="$report" ${chosen[@]+"${chosen[@]}"} </dev/null || status=$?
  [ $status = 0 ] || mapfile -t failed < <(node "$here/scripts/counttests.ts" failed "$report")
  if [ ${#failed[@]} -gt 0 ] && [ ${#failed[@]} -le 3 ]; then
    say "once more, by themselves: ${failed[*]#"$here/"}"
    status=0
    "${run[@]}" --outputFile.json="$report.again" "${failed[@]}" </dev/null || status=$?
  fi
  say "what took longest"
  node "$here/scripts/counttests.ts" slowest "$report" >&2
  count_vitest "$report" "$report.again" ${projects[@]+--projects="$(IFS=, && echo "${projects[*]}")"} || status=1
  return $status
}

# count_of STATUS LOG: the last such count in the log of a command that ended with this status. What ended badly and
# counted no failure has failed as a whole; what passed nothing has not run.
count_of() {
  local count passed failed
  count=$(grep -oE '[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?' "$2" | tail -1)
  passed=${count%% *} failed=${count#*, } failed=${failed%% *}
  [ "${failed:-0}" != 0 ] || { [ "$1" = 0 ] && [ "${passed:-0}" != 0 ]; } || failed=1
  echo "${passed:-0} passed, $failed failed${count#*failed}"
}

# sum_counts adds up such lines.
sum_counts() {
  awk -F, '{ for (i = 1; i <= NF; i++) { split($i, of, " "); sum[of[2]] += of[1] } }
    END { printf "%d passed, %d failed%s\n", sum["passed"], sum["failed"], sum["skipped"] ? ", " sum["skipped"] " skipped" : "" }'
}
