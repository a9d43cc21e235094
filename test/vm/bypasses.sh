#!/bin/bash
# In a machine whose kernel has IPVS and flowtables, which the development machine's has not: what leads packets past the
# rules is seen by a running agent, and said in a sentence. Prints a line for each promise, and the sentence under it.
set -u
cd "$(dirname "$0")/../.."
failed=0
folder=$(mktemp -d)
socket=$folder/sluice.sock

says() { # says TITLE STATE CHECK WORDS: `sluice status` has a line of that check, with these words
  local line
  line=$(grep -E "^[^a-z]*$2 +$3 " "$folder/status")
  if [[ $line == *"$4"* ]]; then echo "ok $1"; else echo "not ok $1" && failed=1; fi
  echo "   $line"
}

modprobe -a ip_vs ip_vs_rr nf_tables nf_flow_table nft_flow_offload br_netfilter
node test/vm/virtualservice.ts || failed=1
ip link add name veth0 type veth peer name veth1 && ip link set veth0 up
nft -f - <<'NFT' || failed=1
table inet other {
  flowtable fast { hook ingress priority 0; devices = { veth0 }; }
  chain forward { type filter hook forward priority 0; ip protocol tcp flow add @fast; }
}
NFT
echo 0 >/proc/sys/net/bridge/bridge-nf-call-iptables
ip link add name cni0 type bridge && ip addr add 10.244.1.1/24 dev cni0 && ip link set cni0 up
echo 1 >/proc/sys/net/ipv4/conf/cni0/route_localnet

mkdir "$folder/manifests"
cat >"$folder/manifests/node.yaml" <<'NODE'
apiVersion: v1
kind: Node
metadata: { name: n1 }
spec: { podCIDR: 10.244.1.0/24, podCIDRs: [10.244.1.0/24] }
status: { addresses: [{ type: InternalIP, address: 172.18.0.2 }] }
NODE
node dist/cli/main.js agent --node n1 --manifests "$folder/manifests" --socket "$socket" --metrics-address none \
  --start-gate off --log-format json >"$folder/log" 2>&1 &
agent=$!
for _ in $(seq 120); do
  [ -S "$socket" ] && break
  sleep 1
done
node dist/cli/main.js status --socket "$socket" >"$folder/status" 2>&1
status=$?
kill $agent

says "a virtual service of IPVS fails a check" fail ipvs "IPVS has 1 virtual services"
says "a flowtable of somebody else's is a warning" warn flowtables "may offload connections"
says "a bridge of pods whose frames pass no rule of IP fails a check" fail bridge-traffic-seen \
  "net.bridge.bridge-nf-call-iptables is off"
says "route_localnet is a warning" warn route-localnet cni0
if [ $status != 0 ]; then echo "ok the node is not ready"; else echo "not ok the node is not ready" && failed=1; fi
[ $failed = 0 ] || cat "$folder/status" "$folder/log"
exit $failed
