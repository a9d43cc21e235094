#!/bin/bash
# In a machine, as on a kernel that has neither nft_queue nor xt_NFQUEUE: rules by name match nothing, a check says so
# in a sentence, and all else is as with the queue. Prints a line for each promise.
set -u
cd "$(dirname "$0")/../.."
failed=0
folder=$(mktemp -d)
socket=$folder/sluice.sock

promise() { # promise TITLE COMMAND...
  if "${@:2}" >"$folder/said" 2>&1; then echo "ok $1"; else echo "not ok $1: $(cat "$folder/said")" && failed=1; fi
}
sluice() { node dist/cli/main.js "$@" --socket "$socket"; }
begin() {
  rm -f "$socket"
  node dist/cli/main.js agent --node n1 --manifests "$folder/manifests" --socket "$socket" --metrics-address none \
    --dns-servers 10.96.0.10 --start-gate off --log-format json >>"$folder/log" 2>&1 &
  agent=$!
  for _ in $(seq 120); do
    [ -S "$socket" ] && sluice status >/dev/null 2>&1 && return
    sleep 1
  done
}
finish() { kill "$agent" && wait "$agent"; }
names_check() { sluice status | grep -A 3 -E '^ *[a-z]+ +names ' | tr -s ' \n' ' '; }
# Without what drops forged answers, which stands in any cluster with names; names of chains are of what they mean.
other_rules() {
  nft list ruleset | awk '/^\tchain names-/ { skip = 1 } !skip; /^\t}/ { skip = 0 }' |
    sed -E 's/-[0-9A-Z]{26}//g' | grep -v -e '^$' -e 'jump names-replies' -e progname | sort
}
as_with_names() { other_rules | diff "$folder/with-names" -; }
traced() { sluice trace shop/web "$1" >"$folder/traced"; cat "$folder/traced" && grep -q "$2" "$folder/traced"; } # traced TO VERDICT

ip link add name veth0 type veth peer name veth1 && ip link set veth0 up && ip link set veth1 up
ip addr add 10.244.1.1/24 dev veth0 && echo 1 >/proc/sys/net/ipv4/ip_forward
cat >"$folder/modprobe" <<'MODPROBE'
#!/bin/sh
case $* in *queue* | *NFQUEUE*) exit 1 ;; esac
exec /run/bin/modprobe "$@"
MODPROBE
chmod +x "$folder/modprobe"
echo "$folder/modprobe" >/proc/sys/kernel/modprobe

mkdir "$folder/manifests"
cat >"$folder/manifests/cluster.yaml" <<'CLUSTER'
apiVersion: v1
kind: Namespace
metadata: { name: shop, labels: { kubernetes.io/metadata.name: shop } }
---
apiVersion: v1
kind: Node
metadata: { name: n1 }
spec: { podCIDR: 10.244.1.0/24, podCIDRs: [10.244.1.0/24] }
status: { addresses: [{ type: InternalIP, address: 172.18.0.2 }] }
---
apiVersion: v1
kind: Pod
metadata: { name: web, namespace: shop, labels: { app: web } }
spec: { nodeName: n1, containers: [{ name: c, image: c }] }
status: { phase: Running, podIP: 10.244.1.10, podIPs: [{ ip: 10.244.1.10 }] }
---
apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: { name: logs }
spec:
  tier: Admin
  priority: 10
  subject: { namespaces: {} }
  egress:
  - { name: near, action: Accept, to: [{ networks: [10.9.0.0/16] }] }
  - { name: logs, action: Accept, to: [{ domainNames: [www.example.org] }, { networks: [192.0.2.0/24] }] }
  - { name: nowhere, action: Deny, to: [{ networks: [0.0.0.0/0] }] }
CLUSTER

begin
check=$(names_check)
promise "the check fails with a sentence" grep -qE \
  'fail +names +this kernel has neither nft_queue nor xt_NFQUEUE with nft_compat: rules by domain name match nothing' <<<"$check"
promise "and the node is ready all the same" sluice status
promise "rules by name have no set and no queue" [ -z "$(nft list ruleset | grep -e queue -e 'set names')" ]
promise "what other rules allow is allowed" traced 10.9.0.1:80 accept
promise "and what the rule by name has beside the name" traced 192.0.2.7:80 accept
promise "anything else is denied" traced 198.51.100.7:80 drop
promise "the rules are what policy asks for" sluice inspect
other_rules >"$folder/with-names"
finish

# The same policy without the name, and after that with a queue.
sed -i 's/{ domainNames: .www.example.org. }, //' "$folder/manifests/cluster.yaml"
begin
promise "all else is as without the name" as_with_names
finish
sed -i 's/to: \[{ networks: \[192/to: [{ domainNames: [www.example.org] }, { networks: [192/' "$folder/manifests/cluster.yaml"
echo /run/bin/modprobe >/proc/sys/kernel/modprobe
begin
promise "with a queue the same names are heard" grep -q 'ok names 1 pod has rules by name' <<<"$(names_check)"
finish

[ $failed = 0 ] || cat "$folder/log"
exit $failed
