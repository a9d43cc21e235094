# Evaluates the logs of upstream's conformance tests. Sourced, after lib.sh.

# conformance_outcomes LOG: PASS or FAIL and the name, a line for each test as it ended last.
conformance_outcomes() {
  sed -nE 's/^    --- (PASS|FAIL): TestConformanceProfiles\/(\S+) .*/\1 \2/p' "$1" |
    awk '{ ended[$2] = $1 } END { for (test in ended) print ended[test], test }' | sort
}

count_conformance() {
  conformance_outcomes "$1" | awk '{ n[$1]++ } END { printf "%d passed, %d failed\n", n["PASS"], n["FAIL"] }'
}

# conformance_again LOG COMMAND...: where no more than three tests have failed, the command runs them once more, by
# themselves, and its log goes behind the first: a test that met a busy machine passes then, and is listed as unsteady with
# what it said; a fault fails again. What ended before it had run all of them has failed.
conformance_again() {
  local log=$1 failed=() said name
  ! grep -q '^panic: ' "$log" || return 1
  mapfile -t failed < <(conformance_outcomes "$log" | sed -n 's/^FAIL //p')
  [ ${#failed[@]} -gt 0 ] && [ ${#failed[@]} -le 3 ] || return 1
  said=$(grep -E '^ +(Error Trace|Error|Test|Messages):' "$log" | tail -n 12)
  say "once more, by themselves: ${failed[*]}"
  "${@:2}" "-test.run=^TestConformanceProfiles\$/^($(IFS='|' && echo "${failed[*]}"))\$" >>"$log" 2>&1 || return 1
  for name in "${failed[@]}"; do echo "unsteady, passed by itself: $name"; done | tee -a "$log"
  printf '%s\n' "$said"
}
