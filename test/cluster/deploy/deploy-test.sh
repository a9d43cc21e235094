#!/usr/bin/env bash
# On the cluster that is up: the manifests are valid, the agents run with the powers they say, and real pods feel a
# default deny on each node, over IPv4 and IPv6, directly and through a Service, with TCP and SCTP.
set -uo pipefail
. "$(dirname "$0")/../env.sh"
need_root
use_binaries
need_cluster
passed=0 failed=0

check() { # check WHAT COMMAND...
  if "${@:2}" >/dev/null 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1)) && echo "not ok: $1"
  fi
}

manifests() {
  check "install.yaml is daemonset/ built" diff <(kube kustomize "$here/daemonset") <(sed 1d "$here/daemonset/install.yaml")
  local overlay
  for overlay in "$here"/daemonset/overlays/*; do
    [ "${overlay##*/}" != monitoring ] || continue # its kinds are the Prometheus operator's: chart.spec.ts brings them
    check "the API server takes $overlay" kube apply --dry-run=server -k "$overlay"
  done
}

agent_of() { kube -n sluice get pods --field-selector "spec.nodeName=node$1" -o "jsonpath=$2"; }
# Of the agent's process: these bits, no other, and no way to more. CAP_NET_ADMIN is bit 12, CAP_NET_RAW 13, CAP_SYS_ADMIN 21.
powers=0000000000003000 no_more=1
[ $cni != sluice ] || powers=0000000000203000 no_more=0
has_its_powers() {
  within "node$1" sh -c "status=/proc/\$(pgrep -nf '[c]li/main.js agent')/status
    grep -q 'CapBnd:.*$powers' \$status && grep -q 'NoNewPrivs:.*$no_more' \$status && grep -q 'Seccomp:.*2' \$status"
}
agents() {
  local n family
  for n in $nodes; do
    check "the agent of node$n is ready" [ "$(agent_of "$n" '{.items[*].status.containerStatuses[*].ready}')" = true ]
    check "the agent of node$n never restarted" [ "$(agent_of "$n" '{.items[*].status.containerStatuses[*].restartCount}')" = 0 ]
    check "the agent of node$n has no powers but its own" has_its_powers "$n"
    for family in ip ip6; do check "node$n has the $family rules" within "node$n" nft list table $family sluice; done
  done
}

targets() {
  kube get pod -l app=web -o jsonpath='{range .items[*].status.podIPs[*]}{.ip} 8080 tcp{"\n"}{.ip} 9000 sctp{"\n"}{end}'
  [ $proxy = none ] || kube get svc web -o jsonpath='{range .spec.clusterIPs[*]}{@} 80 tcp{"\n"}{@} 90 sctp{"\n"}{end}'
}
connect() { # connect FROM TO PORT PROTOCOL
  local to=$2
  [[ $to != *:* ]] || to=[$to]
  kube exec "$1" -c web -- /agnhost connect --timeout=1s --protocol="$4" "$to:$3" </dev/null
}
times_out() { [[ "$(connect "$@" 2>&1)" == *TIMEOUT* ]]; }
everywhere() { # everywhere connect|times_out WHAT
  local from own to port protocol
  for from in $(kube get pod -l app=web -o jsonpath='{.items[*].metadata.name}'); do
    own=$(kube get pod "$from" -o jsonpath='{.status.podIPs[*].ip}')
    while read -r to port protocol; do
      [[ " $own " != *" $to "* ]] || continue # a pod always reaches itself
      check "$from to $to $port $protocol $2" "$1" "$from" "$to" "$port" "$protocol"
    done < <(targets)
  done
}

manifests
agents
kube apply -f "$cluster/deploy/smoke.yaml" >/dev/null
trap 'kube delete --wait=false -f "$cluster/deploy/deny.yaml" -f "$cluster/deploy/smoke.yaml" --ignore-not-found >/dev/null' EXIT
kube wait --for=jsonpath='{.status.numberReady}'="$(wc -w <<<"$nodes")" --timeout=60s daemonset/web >/dev/null
everywhere connect "is open without policy"
kube apply -f "$cluster/deploy/deny.yaml" >/dev/null && sleep 1
everywhere times_out "is closed by a default deny"
kube delete -f "$cluster/deploy/deny.yaml" >/dev/null && sleep 1
everywhere connect "is open again"

echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -ge 50 ]
