#!/usr/bin/env bash
# Runs suites on kernels, each in a machine of its own, and counts: suites.sh [KERNEL...] [SUITE...]
set -euo pipefail
. "$(dirname "$0")/env.sh"
reports=${REPORTS:-$vm/reports}
# A test may take this many times as long as on the machine itself: everything is emulated.
slow=${SLUICE_SLOW:-10}

# What runs, and on what.
declare -A files=(
  [refusal]=                                       # test/vm/refusal.sh: the agent where it cannot work
  [bypasses]=                                      # test/vm/bypasses.sh: IPVS, flowtables and their like are told
  [queueless]=                                     # test/vm/queueless.sh: peers by name where no answer can wait
  [image]=                                         # test/vm/image.sh: the agent's image, built for it on this machine
  [contract]="test/kernel/contract.test.ts"       # Kernel, on nf_tables
  [codec]="test/kernel/codec-oracle.test.ts"      # our bytes, judged by nft
  [packets]="test/kernel/packets.test.ts"         # every scenario, with real packets
  [smoke]="test/kernel/packets.test.ts -t networkpolicy/n0" # the first of them, where all would take hours
  [frames]="test/kernel/hostile/fuzz.test.ts"     # random raw frames of hostile pods
  [connections]="test/kernel/connections.test.ts" # what conntrack tells, and cutting
  [names]="test/kernel/names"                     # peers by name: the queue that this kernel has
  [features]="test/kernel/features.test.ts"       # what this kernel lacks, and the agent on it
)
# How long one may take, in seconds, where that is more than others may.
declare -A seconds=([names]=7200)
all="refusal bypasses queueless features contract codec connections names packets"

kernels= suites=
for word in "$@"; do
  case $word in
    [0-9]*) kernels+=" $word" ;;
    *) [ -v "files[$word]" ] || die "no suite $word (there are: $all)" && suites+=" $word" ;;
  esac
done
[ -n "$(known)" ] || "$vm/fetch.sh"
[ -n "$kernels" ] || kernels=$(for series in $tested; do [ -z "$(newest "$series")" ] || echo "$series"; done)
[ -n "$suites" ] || suites=$all

counts= # a line for each suite

run() { # run KERNEL SUITE
  local folder=$reports/$1-$2 status=0 started=$SECONDS said
  rm -rf "$folder" && mkdir -p "$folder"
  local command=("$vm/$2.sh")
  [ "$2" != image ] || unpack_image "$1" "$folder/image"
  # A thread starts faster than a process, and vitest waits no longer than a minute for either.
  [ -z "${files[$2]}" ] || command=(env SLUICE_SLOW="$slow" CI=true vitest run --project kernel --pool=threads
    --reporter=default --reporter=json --outputFile.json=/run/vm/results.json ${files[$2]})
  SLUICE_VM_RUN=$folder SLUICE_VM_SECONDS=${SLUICE_VM_SECONDS:-${seconds[$2]-2400}} "$vm/boot.sh" "$1" "${command[@]}" \
    >"$folder/output" 2>&1 || status=$?
  said=$(counted "$folder") || [ "$status" != 0 ] || status=1
  counts+=$said$'\n'
  if [ "$status" != 0 ]; then
    [[ $said != *" 0 failed"* ]] || counts+=$'0 passed, 1 failed\n' # it broke outside its tests
    said+=": it ended with status $status; see $folder/output and $folder/console"
  fi
  printf '%-6s %-12s %4d s   %s\n' "$1" "$2" $((SECONDS - started)) "$said"
}

unpack_image() { # unpack_image KERNEL FOLDER
  local image arch=
  [ "$(arch_of "$1")" = amd64 ] || arch=--$(arch_of "$1")
  image=$("$here/test/cluster/image/image.sh" $arch)
  mkdir -p "$2" && tar -xOf "$image" layer.tar | tar -x -C "$2"
}

counted() { # counted FOLDER: as count_vitest does
  local passed failed
  if [ -e "$1/results.json" ]; then
    count_vitest "$1/results.json"
    return
  fi
  passed=$(grep -c '^ok ' "$1/output") failed=$(grep -c '^not ok ' "$1/output")
  echo "$passed passed, $failed failed"
  [ "$passed" -gt 0 ] && [ "$failed" = 0 ]
}

cd "$here"
for kernel in $kernels; do
  "$vm/fetch.sh" "$kernel"
  say "$(newest "$kernel")"
  for suite in $suites; do run "$kernel" "$suite"; done
done
total=$(sum_counts <<<"$counts")
echo "$total"
[[ $total == *" 0 failed"* ]]
