/** Other programs that enforce network policy on a node, by the names of what they leave there. */

/** By process, or by the first part of the pod's name. */
const PROGRAMS: readonly { readonly process: string; readonly pod: string }[] = [
  { process: 'calico-node', pod: 'calico-node-' },
  { process: 'calico-node', pod: 'canal-' },
  { process: 'cilium-agent', pod: 'cilium-' },
  { process: 'kube-router', pod: 'kube-router-' },
  { process: 'antrea-agent', pod: 'antrea-agent-' },
  { process: 'weave-npc', pod: 'weave-net-' },
  { process: 'ovnkube', pod: 'ovnkube-node-' },
  { process: 'kube-network-po', pod: 'kube-network-policies-' },
];
const NOT_ENFORCERS = /^cilium-(operator|envoy)-/;

/** Tables of their own. kindnetd has one since it enforces policy: kind 0.24. */
const TABLES = new Set([
  'calico',
  'kindnet-network-policies',
  'kube-network-policies',
  'kube-router-filter-ipv4',
  'kube-router-filter-ipv6',
]);

/** First parts of the names of chains in the tables that iptables shares. k3s brings kube-router's without a pod. */
const CHAINS: readonly string[] = [
  'ANTREA-',
  'CILIUM_',
  'KUBE-NWPLCY-',
  'KUBE-POD-FW-',
  'KUBE-ROUTER-',
  'WEAVE-NPC',
  'cali-',
];

/** `process calico-node`, or undefined. */
export function enforcingProcess(process: string): string | undefined {
  return PROGRAMS.some(program => program.process === process) ? `process ${process}` : undefined;
}

/** `pod calico-node-x7d2f`, or undefined. */
export function enforcingPod(name: string): string | undefined {
  const isOne = PROGRAMS.some(({ pod }) => name.startsWith(pod)) && !NOT_ENFORCERS.test(name);
  return isOne ? `pod ${name}` : undefined;
}

/** `table calico`, `chains KUBE-ROUTER-*`: what a chain of nf_tables is a part of; or undefined. */
export function enforcingChain(table: string, chain: string): string | undefined {
  if (TABLES.has(table)) return `table ${table}`;
  const start = CHAINS.find(start => chain.startsWith(start));
  return start && `chains ${start}*`;
}
