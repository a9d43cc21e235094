#!/bin/bash
# In a machine whose kernel has IPVS and flowtables, which the development machine's has not: what leads packets past the
# rules is seen by a running agent, and said in a sentence, whether it was there before the agent or comes and goes while
# it runs. Prints a line for each promise, and the sentence under it.
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

becomes() { # becomes TITLE STATE CHECK WORDS: /readyz has that line within what chains may be old, and some
  local line try
  for try in $(seq 90); do
    exec 3<>/dev/tcp/127.0.0.1/9910 && printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3
    line=$(grep -E "^$2 +$3:" <&3)
    [[ $line != *"$4"* || -z $line ]] || break
    sleep 1
  done
  if [[ -n $line && $line == *"$4"* ]]; then echo "ok $1"; else echo "not ok $1" && failed=1; fi
  echo "   $line"
}

modprobe -a macvlan ip_vs ip_vs_rr nf_tables nf_flow_table nft_flow_offload br_netfilter
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
echo 1 >/proc/sys/net/ipv4/conf/veth0/route_localnet

ip link add name lan0 type bridge && ip link set lan0 up && ip route add 10.98.0.5 dev lan0
ip link add name shim0 link veth0 type macvlan && ip link set shim0 up && ip route add 10.99.0.5 dev shim0

mkdir "$folder/manifests"
pod() { # pod NAME ADDRESS: a pod of this node
  cat >"$folder/manifests/$1.yaml" <<POD
apiVersion: v1
kind: Pod
metadata: { name: $1, namespace: shop }
spec: { nodeName: n1, containers: [{ name: c }] }
status: { phase: Running, podIP: $2, podIPs: [{ ip: $2 }] }
POD
}
pod lan 10.98.0.5
pod beside 10.99.0.5
cat >"$folder/manifests/node.yaml" <<'NODE'
apiVersion: v1
kind: Node
metadata: { name: n1 }
spec: { podCIDR: 10.244.1.0/24, podCIDRs: [10.244.1.0/24] }
status: { addresses: [{ type: InternalIP, address: 172.18.0.2 }] }
NODE
node dist/cli/main.js agent --node n1 --manifests "$folder/manifests" --socket "$socket" --metrics-address 127.0.0.1:9910 \
  --start-gate off --log-format json >"$folder/log" 2>&1 &
agent=$!
for _ in $(seq 120); do
  [ -S "$socket" ] && break
  sleep 1
done
node dist/cli/main.js status --socket "$socket" >"$folder/status" 2>&1
status=$?

says "a virtual service of IPVS fails a check" fail ipvs "IPVS has 1 virtual services"
says "a flowtable of somebody else's is a warning" warn flowtables "may offload connections"
says "a bridge of pods whose frames pass no rule of IP fails a check" fail bridge-traffic-seen \
  "net.bridge.bridge-nf-call-iptables is off"
says "and so does one that the routes to pods tell" fail bridge-traffic-seen "cni0, lan0"
says "pods that are linked beside the network of the node are a warning" warn pod-links "10.99.0.5 is shim0 (macvlan)"
says "route_localnet is a warning" warn route-localnet veth0
if [ $status != 0 ]; then echo "ok the node is not ready"; else echo "not ok the node is not ready" && failed=1; fi

node test/vm/virtualservice.ts clear || failed=1
ip netns add apart && ip netns exec apart node test/vm/virtualservice.ts || failed=1
echo 1 >/sys/class/net/lan0/bridge/nf_call_iptables
echo 1 >/sys/class/net/cni0/bridge/nf_call_iptables
echo 0 >/proc/sys/net/ipv4/conf/veth0/route_localnet
ip link del shim0
nft delete table inet other
becomes "virtual services that are gone, and those of another network namespace, are none" ok ipvs "no virtual service"
becomes "bridges that ask for themselves are seen" ok bridge-traffic-seen "cni0, lan0"
becomes "route_localnet that is off again is none" ok route-localnet "stay where they are"
becomes "a link beside the network that is gone is none" ok pod-links ""
becomes "a flowtable that is gone is none" ok flowtables "connections are not offloaded"
node test/vm/virtualservice.ts mark || failed=1
becomes "a virtual service by mark that comes later fails the check" fail ipvs "IPVS has 1 virtual services"
echo 0 >/sys/class/net/lan0/bridge/nf_call_iptables
becomes "a bridge that is told to be silent later fails the check" fail bridge-traffic-seen lan0
nft 'table inet other { flowtable later { hook ingress priority 0; devices = { veth0 }; }; }' || failed=1
becomes "a flowtable that comes later is a warning" warn flowtables "later of table"
kill $agent
[ $failed = 0 ] || cat "$folder/status" "$folder/log"
exit $failed
