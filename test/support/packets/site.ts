/** One node with a few pods in a laboratory: enough for packets that must pass and packets that must not. */
import type { Lab } from '../../../bench/lab/lab.ts';
import { buildLab } from '../../../bench/lab/lab.ts';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { address } from '../../../bench/lab/topology.ts';
import { type NftKernelOptions, openNftKernel } from '../../../src/kernel/netlink/nftables/nft-kernel.ts';
import {
  type ClusterEvent,
  NAMESPACE_NAME_LABEL,
  type Pod,
  type PodKey,
} from '../../../src/model/cluster.ts';
import type { Policy, Rule } from '../../../src/model/policy.ts';
import { EVERYTHING, type Labels, type PodSelector } from '../../../src/model/selector.ts';
import type { Kernel } from '../../../src/nft/kernel.ts';

export const NODE = 'n1';

/** `probe/x` and `probe/y` send to `probe/t`. */
export const HOSTS = {
  x: [address('10.0.1.201'), address('fd00::1:201')],
  y: [address('10.0.1.202'), address('fd00::1:202')],
  t: [address('10.0.1.203'), address('fd00::1:203')],
} as const;

export function buildSite(prefix: string): Promise<Lab> {
  const pods = Object.entries(HOSTS).map(([name, addresses]) => ({
    name: `probe/${name}`,
    node: NODE,
    addresses,
  }));
  const nodes = [{ name: NODE, addresses: ['172.18.0.11', 'fd00:18::11'].map(address) }];
  return buildLab({ nodes, pods, outside: [] }, { prefix: `${prefix}${process.pid}` });
}

export function openIn(lab: Lab, options: NftKernelOptions = {}): Promise<Kernel> {
  return inNamespace(lab.nodeNamespace(NODE), () => openNftKernel(options));
}

export const ALLOWED_PORT = 2222;
export const DENIED_PORT = 1111;

/** From x to t in both families: by `firmEvents` two are always allowed, two always denied. */
export const FIRM_FLOWS = ([0, 1] as const).flatMap(family =>
  [ALLOWED_PORT, DENIED_PORT].map(port => ({ from: HOSTS.x[family], to: HOSTS.t[family], port })),
);

/** The pods of the site under a policy that comes before every other. */
export function firmEvents(): ClusterEvent[] {
  return [...siteEvents(), { type: 'policy', key: FIRM.id, value: FIRM }];
}

export function siteEvents(): ClusterEvent[] {
  return [
    { type: 'node', key: NODE, value: { name: NODE, labels: {}, addresses: [], podCidrs: [] } },
    { type: 'namespace', key: 'probe', value: { name: 'probe', labels: namespaceLabels } },
    ...Object.keys(HOSTS).map(name => podEvent(name as keyof typeof HOSTS)),
  ];
}

export function podEvent(name: keyof typeof HOSTS, labels: Labels = {}): ClusterEvent {
  const key: PodKey = `probe/${name}`;
  const value: Pod = {
    key,
    namespace: 'probe',
    name,
    labels: { name, ...labels },
    node: NODE,
    addresses: HOSTS[name],
    hostNetwork: false,
    finished: false,
    createdAt: '2026-01-01T00:00:00Z',
    ports: [],
  };
  return { type: 'pod', key, value };
}

const namespaceLabels = { [NAMESPACE_NAME_LABEL]: 'probe' };

const SITE: PodSelector = { namespaces: { kind: 'name', name: 'probe' }, pods: EVERYTHING };

const firmRules = (direction: string): Rule[] =>
  (
    [
      ['accept', ALLOWED_PORT],
      ['deny', DENIED_PORT],
    ] as const
  ).map(([action, port], index) => ({
    path: `${direction}[${index}]`,
    action,
    peers: [{ kind: 'pods', selector: SITE }],
    ports: [{ kind: 'range', protocol: 'UDP', first: port, last: port }],
  }));

const FIRM: Policy = {
  id: 'ClusterNetworkPolicy firm',
  kind: 'ClusterNetworkPolicy',
  name: 'firm',
  tier: 'admin',
  order: -1,
  subject: SITE,
  ingress: firmRules('ingress'),
  egress: firmRules('egress'),
};
