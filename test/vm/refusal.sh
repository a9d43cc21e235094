#!/bin/bash
# In a machine, before anything has loaded a module of nf_tables: an agent on a kernel that lacks what its rules need
# ends, says so in one sentence, and leaves nothing behind. Prints a line for each promise.
set -u
cd "$(dirname "$0")/../.."
failed=0
folder=$(mktemp -d)

promise() { # promise TITLE COMMAND...
  if "${@:2}" >/dev/null 2>&1; then echo "ok $1"; else echo "not ok $1: $(cat "$folder/said")" && failed=1; fi
}
agent() {
  timeout 300 node dist/cli/main.js agent --node n1 --manifests examples/shop --socket none --metrics-address none \
    --log-format json >"$folder/log" 2>"$folder/said"
  echo $? >"$folder/status"
}
says() { # says SENTENCE: that, in one line, and status 2
  [ "$(cat "$folder/status")" = 2 ] && [ "$(wc -l <"$folder/said")" = 1 ] && grep -q "$1" "$folder/said"
}

echo /bin/false >/proc/sys/kernel/modprobe
agent
promise "without nf_tables the agent says that there is nothing to put rules into" says "this kernel has no nf_tables"

# What nf_tables asks for while it is loaded is there; what rules ask for is not.
echo /run/bin/modprobe >/proc/sys/kernel/modprobe
modprobe nf_tables
echo /bin/false >/proc/sys/kernel/modprobe
agent
promise "without nft_ct the agent names the rule that was refused" \
  says "^sluice: Linux $(uname -r) does not take what Sluice's rules are made of (.*add rule ip sluice rules.*)"
promise "and says what would do" says "Linux .* or newer with CONFIG_NF_TABLES_IPV4, CONFIG_NF_TABLES_IPV6 and CONFIG_NFT_CT"
promise "and leaves nothing behind" [ -z "$(nft list tables)" ]

exit $failed
