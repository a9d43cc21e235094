import { describe, expect, test } from 'vitest';
import type { Host, Ours, PodRoute } from '../../kernel/host/facts.ts';
import { type Cidr, parseAddress, parseCidr } from '../../model/address.ts';
import type { Node } from '../../model/cluster.ts';
import {
  addressOwnersKnown,
  ageText,
  denials,
  kernelEqualsDesired,
  kernelFeatures,
  lastCommit,
  lastEvent,
  NO_DENIALS,
  NOTHING_MISSING,
  nodeRoutes,
  ownNode,
  podAddresses,
  policiesProgrammed,
  sourcesSynced,
  type Work,
} from './agentchecks.ts';
import { flowtables, ipvs, podLinks, podSources, routeLocalnet, sourceRoutes } from './bypasschecks.ts';
import { CHECK_NAMES, type CheckState, finding, isReady, whyNotReady } from './check.ts';
import { flannel, flannelFacts } from './flannelcheck.ts';
import { health } from './health.ts';
import {
  bridgeTrafficSeen,
  conntrackFill,
  enforcingChain,
  foreignEnforcer,
  forwarding,
  podCidrRoute,
} from './hostchecks.ts';
import { type MemoryFacts, memory } from './memorycheck.ts';
import { type DnsFacts, NO_NAMES, names } from './namescheck.ts';
import { NO_GATE, type PodStarts, startGate, unknownPods } from './startchecks.ts';

/** 155 MB at the peak, 65.5 MB of them on the heap. */
const MEMORY: MemoryFacts = { pods: 15_000, policies: 1_000, heapLimit: 384 * 2 ** 20, resident: 110e6 };

const NOW = 1_000_000_000;
const address = (text: string) => parseAddress(text)!;
const cidr = (text: string): Cidr => parseCidr(text)!;
const value = <T>(value: T) => ({ value });
const unreadable = { unreadable: 'no such file' };

const OPENED = {
  openers: value({
    pods: [
      { pod: 'shop/loose', opened: 700 },
      { pod: 'shop/web', opened: 60 },
      { pod: 'shop/db', opened: 9 },
      { pod: 'shop/a', opened: 2 },
      { pod: 'shop/b', opened: 1 },
    ],
    others: 28,
  }),
};

const WORK: Work = {
  synced: true,
  equalAtMs: NOW - 100,
  lastEventAtMs: NOW - 1000,
  failuresInARow: 0,
  lagMs: 0,
  waitingPods: 0,
  waitingMs: 0,
  waitingPodNames: [],
  waitingPolicies: 0,
  waitingPoliciesMs: 0,
  waitingPolicyNames: [],
  lostSources: [],
  quarantined: [],
  commits: [{ atMs: NOW - 2000, operations: 3 }],
};
const HOST: Host = {
  forwarding: { ip: value(true), ip6: value(true) },
  bridges: value([]),
  bridgeCalls: { ip: value(true), ip6: value(true) },
  conntrack: value({ count: 10, max: 1000 }),
  routes: { ip: value([cidr('10.244.1.0/24')]), ip6: value([cidr('fd00:1::/64')]) },
  processes: value(['systemd', 'kubelet']),
  foreignRules: value([]),
  foreignChains: value([]),
  flowtables: value([]),
  virtualServices: value(0),
  localnet: value([]),
  sourceRoutes: value([]),
};
const OURS: Ours = {
  podCidrs: [cidr('10.244.1.0/24'), cidr('fd00:1::/64')],
  podAddresses: [address('10.244.1.5')],
  podNames: ['web-0', 'kube-proxy-x'],
};
const WITH_UNKNOWN_PORT: Ours = { ...OURS, withoutPort: [], unknownPorts: ['veth7', 'veth9'] };
const cni0 = { name: 'cni0', addresses: [address('10.244.1.1')] };
const docker0 = { name: 'docker0', addresses: [address('172.17.0.1')] };

/** A bridge without an address of the pod network, as where the cluster gives its nodes none. */
const lan0 = { name: 'lan0', addresses: [address('192.168.1.5')] };
const way = (device: string, kind: string | undefined, isUplink = false): PodRoute => ({
  device,
  ...(kind && { kind }),
  isUplink,
  addresses: [address('192.168.1.77')],
  mtu: 1450,
});
const linked = (...ways: PodRoute[]) => ({ podRoutes: value(ways) });
const FLANNEL_HOST = {
  ...HOST,
  routes: { ip: value([cidr('10.244.2.0/24')]), ip6: value([cidr('fd00:2::/64')]) },
};
const onFlannel = (facts: Partial<Ours>): Ours => ({
  ...OURS,
  ...linked(way('cni0', 'bridge'), { ...way('eth0', undefined, true), mtu: 9000 }),
  flannelTunnels: [{ name: 'flannel.1', mtu: 1450 }],
  flannel: {
    networks: [
      { node: 'n2', cidr: cidr('10.244.2.0/24') },
      { node: 'n2', cidr: cidr('fd00:2::/64') },
    ],
    shared: [],
  },
  ...facts,
});
const GATED: PodStarts = {
  gate: { kind: 'connected', runtime: 'containerd v2', inTime: 3, late: 1 },
  unknownPods: 'deny',
  why: 'the start gate is on',
};

const SLOWER = { lacks: 'haste', since: '6.10', instead: 'it takes longer', matters: false };
const WORSE = { lacks: 'owners', since: '6.9', instead: 'anybody may write', matters: true };

const host = (changes: Partial<Host>): Host => ({ ...HOST, ...changes });
const ours = (changes: Partial<Ours>): Ours => ({ ...OURS, ...changes });
const work = (changes: Partial<Work>): Work => ({ ...WORK, ...changes });
const without = (key: keyof Work): Work => {
  const { [key]: _, ...rest } = WORK;
  return rest as Work;
};
const overLan = ours({ podCidrs: [], ...linked(way('lan0', 'bridge', true)) });
const UNSEEN = { bridges: value([docker0, lan0]), bridgeCalls: { ip: value(false), ip6: value(false) } };
const route6 = HOST.routes.ip6;

const HEARD: DnsFacts = {
  pods: 2,
  isNaming: true,
  canWait: true,
  resolvers: ['10.96.0.10'],
  counts: {
    seen: 9,
    learnt: 8,
    overBudget: 0,
    untaken: 0,
    evicted: 0,
    overruns: 0,
    addresses: 7,
    isQueueing: true,
  },
  silentMs: 900,
  most: 8,
};

const MISSPELT = { name: 'nod1', others: ['node1', 'node2'] };

const RATE = { perSecond: 1, burst: 2 };
const LIMITS = { perSource: RATE, inAll: RATE };

const CASES: readonly [string, () => { state: CheckState }, CheckState][] = [
  ['sources-synced: synced', () => sourcesSynced(WORK), 'ok'],
  ['sources-synced: not yet', () => sourcesSynced(work({ synced: false })), 'fail'],
  [
    'sources-synced: one is lost, and the rest is in force',
    () => sourcesSynced(work({ synced: false, lostSources: ['Node'] })),
    'fail',
  ],
  ['kernel-equals-desired: just compared', () => kernelEqualsDesired(WORK, NOW), 'ok'],
  ['kernel-equals-desired: never compared', () => kernelEqualsDesired(without('equalAtMs'), NOW), 'unknown'],
  ['kernel-equals-desired: compared long ago', () => kernelEqualsDesired(WORK, NOW + 61_000), 'fail'],
  [
    'kernel-equals-desired: pods wait for their turn',
    () => kernelEqualsDesired(work({ waitingPods: 12, waitingMs: 60_000 }), NOW),
    'ok',
  ],
  ['kernel-equals-desired: a change waits', () => kernelEqualsDesired(work({ lagMs: 6000 }), NOW), 'warn'],
  ['kernel-features: all', () => kernelFeatures({ release: '6.18', missingFeatures: [] }), 'ok'],
  ['kernel-features: slower', () => kernelFeatures({ release: '6.9', missingFeatures: [SLOWER] }), 'ok'],
  [
    'kernel-features: worse',
    () => kernelFeatures({ release: '6.1', missingFeatures: [SLOWER, WORSE] }),
    'warn',
  ],
  ['names: nobody has one', () => names({ ...HEARD, pods: 0, isNaming: false }), 'ok'],
  ['names: heard', () => names(HEARD), 'ok'],
  ['names: no queue', () => names({ ...HEARD, canWait: false }), 'fail'],
  ['names: no queue, and nobody has one', () => names({ ...HEARD, isNaming: false, canWait: false }), 'warn'],
  ['names: no resolver', () => names({ ...HEARD, resolvers: [] }), 'warn'],
  ['names: another listens', () => names({ ...HEARD, error: 'queue 53: EBUSY' }), 'warn'],
  [
    'names: nothing waits',
    () => names({ ...HEARD, counts: { ...HEARD.counts!, isQueueing: false } }),
    'warn',
  ],
  ['names: the thread is silent', () => names({ ...HEARD, silentMs: 5_001 }), 'warn'],
  ['names: some went', () => names({ ...HEARD, counts: { ...HEARD.counts!, evicted: 3 } }), 'ok'],
  ['names: some were too much', () => names({ ...HEARD, counts: { ...HEARD.counts!, overBudget: 3 } }), 'ok'],
  ['names: the limit', () => names({ ...HEARD, counts: { ...HEARD.counts!, addresses: 8 } }), 'warn'],
  [
    'denials: named',
    () => denials({ ...NO_DENIALS, limits: LIMITS, denied: 9, handed: 3, attempts: 2 }),
    'ok',
  ],
  ['denials: not asked for', () => denials(NO_DENIALS), 'ok'],
  [
    'denials: another reads',
    () => denials({ ...NO_DENIALS, limits: LIMITS, error: 'another process is handed the packets' }),
    'warn',
  ],
  ['memory: no limit', () => memory(MEMORY), 'ok'],
  ['memory: enough', () => memory({ ...MEMORY, limit: 512 * 2 ** 20 }), 'ok'],
  ['memory: the container may have too little', () => memory({ ...MEMORY, limit: 128 * 2 ** 20 }), 'warn'],
  ['memory: the heap may have too little', () => memory({ ...MEMORY, heapLimit: 48 * 2 ** 20 }), 'warn'],
  ['last-commit: one', () => lastCommit(WORK, NOW), 'ok'],
  ['last-commit: none was needed', () => lastCommit(work({ commits: [] }), NOW), 'ok'],
  ['last-commit: failures since', () => lastCommit(work({ failuresInARow: 2 }), NOW), 'fail'],
  ['policies-programmed: all', () => policiesProgrammed(WORK), 'ok'],
  [
    'policies-programmed: two are refused',
    () =>
      policiesProgrammed(
        work({
          quarantined: [
            { id: 'NetworkPolicy a/b', reason: 'refused', detail: 'EINVAL' },
            { id: 'NetworkPolicy a/c', reason: 'refused', detail: 'EINVAL' },
          ],
        }),
      ),
    'warn',
  ],
  [
    'last-commit: nothing tried yet',
    () => lastCommit({ ...without('equalAtMs'), commits: [] }, NOW),
    'unknown',
  ],
  ['pod-addresses: another plugin gives them', () => podAddresses(OURS), 'ok'],
  ['pod-addresses: some are free', () => podAddresses(ours({ attached: { unreachable: [] } })), 'ok'],
  [
    'pod-addresses: none is free',
    () => podAddresses(ours({ attached: { refuses: 'all are in use', unreachable: [] } })),
    'fail',
  ],
  ['node-routes: another plugin makes them', () => nodeRoutes(OURS), 'ok'],
  ['node-routes: all nodes are neighbours', () => nodeRoutes(ours({ attached: { unreachable: [] } })), 'ok'],
  [
    'node-routes: a node is behind a router',
    () => nodeRoutes(ours({ attached: { unreachable: ['10.0.2.0/24 of node two'] } })),
    'warn',
  ],
  ['last-event: recent', () => lastEvent(WORK, NOW), 'ok'],
  ['last-event: long ago', () => lastEvent(WORK, NOW + 3_600_000), 'warn'],
  ['last-event: a source is lost', () => lastEvent(work({ lostSources: ['pods'] }), NOW), 'warn'],
  ['last-event: none', () => lastEvent(without('lastEventAtMs'), NOW), 'unknown'],
  ['ip-forward: on', () => forwarding('ip', HOST, OURS), 'ok'],
  [
    'ip-forward: off',
    () => forwarding('ip', host({ forwarding: { ip: value(false), ip6: value(true) } }), OURS),
    'fail',
  ],
  [
    'ip-forward: unreadable',
    () => forwarding('ip', host({ forwarding: { ip: unreadable, ip6: unreadable } }), OURS),
    'unknown',
  ],
  [
    'ip6-forward: off, and pods have IPv6',
    () => forwarding('ip6', host({ forwarding: { ip: value(true), ip6: value(false) } }), OURS),
    'fail',
  ],
  [
    'ip6-forward: off, and no pod has IPv6',
    () =>
      forwarding(
        'ip6',
        host({ forwarding: { ip: value(true), ip6: value(false) } }),
        ours({ podCidrs: [cidr('10.244.1.0/24')] }),
      ),
    'ok',
  ],
  [
    'ip6-forward: off, and nothing is known of the pods',
    () =>
      forwarding(
        'ip6',
        host({ forwarding: { ip: value(true), ip6: value(false) } }),
        ours({ podCidrs: [], podAddresses: [] }),
      ),
    'warn',
  ],
  ['bridge-traffic-seen: no bridge', () => bridgeTrafficSeen(HOST, OURS), 'ok'],
  ['bridge-traffic-seen: seen', () => bridgeTrafficSeen(host({ bridges: value([cni0]) }), OURS), 'ok'],
  [
    'bridge-traffic-seen: unseen, but no bridge of pods',
    () =>
      bridgeTrafficSeen(
        host({ bridges: value([docker0]), bridgeCalls: { ip: value(false), ip6: value(false) } }),
        OURS,
      ),
    'ok',
  ],
  [
    'bridge-traffic-seen: unseen',
    () =>
      bridgeTrafficSeen(
        host({ bridges: value([docker0, cni0]), bridgeCalls: { ip: value(false), ip6: value(true) } }),
        OURS,
      ),
    'fail',
  ],
  [
    'bridge-traffic-seen: unseen for IPv6 alone',
    () =>
      bridgeTrafficSeen(
        host({
          bridges: value([{ name: 'cni0', addresses: [...cni0.addresses, address('fd00:1::1')] }]),
          bridgeCalls: { ip: value(true), ip6: value(false) },
        }),
        OURS,
      ),
    'fail',
  ],
  [
    'bridge-traffic-seen: bridges unreadable',
    () => bridgeTrafficSeen(host({ bridges: unreadable }), OURS),
    'unknown',
  ],
  [
    'bridge-traffic-seen: the switch is unreadable',
    () =>
      bridgeTrafficSeen(
        host({ bridges: value([cni0]), bridgeCalls: { ip: unreadable, ip6: unreadable } }),
        OURS,
      ),
    'unknown',
  ],
  [
    'bridge-traffic-seen: a bridge of whom nobody knows',
    () => bridgeTrafficSeen(host({ bridges: value([cni0]) }), ours({ podCidrs: [] })),
    'unknown',
  ],
  [
    'bridge-traffic-seen: unseen, on a bridge that the routes to pods tell',
    () => bridgeTrafficSeen(host(UNSEEN), overLan),
    'fail',
  ],
  [
    'bridge-traffic-seen: unseen, on a bridge that asks for itself',
    () => bridgeTrafficSeen(host({ ...UNSEEN, bridges: value([{ ...lan0, calls: ['ip'] }]) }), overLan),
    'ok',
  ],
  [
    'bridge-traffic-seen: unseen, on a bridge that asks for itself in the other family',
    () => bridgeTrafficSeen(host({ ...UNSEEN, bridges: value([{ ...lan0, calls: ['ip6'] }]) }), overLan),
    'fail',
  ],
  [
    'bridge-traffic-seen: no pod CIDR, and pods behind no bridge',
    () => bridgeTrafficSeen(host(UNSEEN), ours({ podCidrs: [], ...linked(way('veth1', 'veth')) })),
    'ok',
  ],
  ['flannel: another network', () => flannel(HOST, ours(linked(way('cni0', 'bridge')))), 'ok'],
  ['flannel: routed, and packets fit', () => flannel(FLANNEL_HOST, onFlannel({})), 'ok'],
  [
    'flannel: a route that is wider',
    () =>
      flannel(
        host({ routes: { ip: value([cidr('10.244.0.0/16')]), ip6: value([cidr('fd00::/16')]) } }),
        onFlannel({}),
      ),
    'ok',
  ],
  ['flannel: no route', () => flannel(HOST, onFlannel({})), 'warn'],
  [
    'flannel: no route in one family',
    () => flannel(host({ routes: { ip: FLANNEL_HOST.routes.ip, ip6: value([]) } }), onFlannel({})),
    'warn',
  ],
  [
    'flannel: routes cannot be read',
    () => flannel(host({ routes: { ip: unreadable, ip6: unreadable } }), onFlannel({})),
    'unknown',
  ],
  [
    'flannel: interfaces cannot be read',
    () => flannel(FLANNEL_HOST, onFlannel({ podRoutes: unreadable })),
    'unknown',
  ],
  [
    'flannel: packets of pods are too large',
    () => flannel(FLANNEL_HOST, onFlannel({ flannelTunnels: [{ name: 'flannel.1', mtu: 1400 }] })),
    'warn',
  ],
  [
    'flannel: a smaller tunnel for IPv6 beside that for IPv4',
    () =>
      flannel(
        FLANNEL_HOST,
        onFlannel({
          flannelTunnels: [
            { name: 'flannel.1', mtu: 1450 },
            { name: 'flannel-v6.1', mtu: 1430 },
          ],
        }),
      ),
    'ok',
  ],
  [
    'flannel: packets of pods are too large for the tunnel of IPv4 alone',
    () =>
      flannel(
        FLANNEL_HOST,
        onFlannel({
          flannelTunnels: [
            { name: 'flannel-v6.1', mtu: 1450 },
            { name: 'flannel.1', mtu: 1400 },
          ],
        }),
      ),
    'warn',
  ],
  [
    'flannel: packets of pods are too large for both tunnels',
    () =>
      flannel(
        FLANNEL_HOST,
        onFlannel({
          flannelTunnels: [
            { name: 'flannel-v6.1', mtu: 1380 },
            { name: 'flannel.1', mtu: 1400 },
          ],
        }),
      ),
    'warn',
  ],
  ['flannel: host-gw has no tunnel', () => flannel(FLANNEL_HOST, onFlannel({ flannelTunnels: [] })), 'ok'],
  [
    'flannel: two nodes with one network',
    () =>
      flannel(
        FLANNEL_HOST,
        onFlannel({
          flannel: { networks: [], shared: [{ nodes: ['n2', 'n3'], cidr: cidr('10.244.2.0/24') }] },
        }),
      ),
    'warn',
  ],
  ['conntrack-fill: roomy', () => conntrackFill(HOST), 'ok'],
  [
    'conntrack-fill: 80 %',
    () => conntrackFill(host({ conntrack: value({ count: 800, max: 1000 }) })),
    'warn',
  ],
  [
    'conntrack-fill: 95 %',
    () => conntrackFill(host({ conntrack: value({ count: 950, max: 1000 }) })),
    'fail',
  ],
  ['conntrack-fill: whoever opened them does not make it fuller', () => conntrackFill(HOST, OPENED), 'ok'],
  ['conntrack-fill: unreadable', () => conntrackFill(host({ conntrack: unreadable })), 'unknown'],
  ['conntrack-fill: no limit', () => conntrackFill(host({ conntrack: value({ count: 1, max: 0 }) })), 'ok'],
  ['pod-cidr-route: the very network', () => podCidrRoute(HOST, OURS), 'ok'],
  [
    'pod-cidr-route: a route to one pod',
    () => podCidrRoute(host({ routes: { ip: value([cidr('10.244.1.5/32')]), ip6: route6 } }), OURS),
    'ok',
  ],
  [
    'pod-cidr-route: a wider network is no route to our pods',
    () => podCidrRoute(host({ routes: { ip: value([cidr('10.244.0.0/16')]), ip6: route6 } }), OURS),
    'warn',
  ],
  ['pod-cidr-route: no pod CIDR', () => podCidrRoute(HOST, ours({ podCidrs: [] })), 'unknown'],
  [
    'pod-cidr-route: unreadable',
    () => podCidrRoute(host({ routes: { ip: unreadable, ip6: route6 } }), OURS),
    'unknown',
  ],
  ['foreign-enforcer: none', () => foreignEnforcer(HOST, OURS), 'ok'],
  [
    'foreign-enforcer: a process',
    () => foreignEnforcer(host({ processes: value(['cilium-agent']) }), OURS),
    'warn',
  ],
  [
    'foreign-enforcer: a pod, where processes cannot be seen',
    () => foreignEnforcer(host({ processes: unreadable }), ours({ podNames: ['calico-node-abcde'] })),
    'warn',
  ],
  [
    'foreign-enforcer: an operator enforces nothing',
    () => foreignEnforcer(HOST, ours({ podNames: ['cilium-operator-7d9-x'] })),
    'ok',
  ],
  [
    'foreign-enforcer: rules, where processes cannot be seen',
    () => foreignEnforcer(host({ processes: unreadable, foreignRules: value(['table calico']) }), OURS),
    'warn',
  ],
  [
    'foreign-enforcer: processes cannot be seen, rules can',
    () => foreignEnforcer(host({ processes: unreadable }), OURS),
    'ok',
  ],
  [
    'foreign-enforcer: rules cannot be read',
    () => foreignEnforcer(host({ foreignRules: unreadable }), OURS),
    'unknown',
  ],
  ['pod-sources: no bridge', () => podSources(HOST, OURS, NO_GATE), 'ok'],
  [
    'pod-sources: a bridge of others',
    () => podSources(host({ bridges: value([docker0]) }), OURS, NO_GATE),
    'ok',
  ],
  [
    'pod-sources: a bridge of pods',
    () => podSources(host({ bridges: value([docker0, cni0]) }), OURS, NO_GATE),
    'warn',
  ],
  [
    'pod-sources: a bridge of pods, all behind ports that are known',
    () => podSources(host({ bridges: value([docker0, cni0]) }), { ...OURS, withoutPort: [] }, NO_GATE),
    'ok',
  ],
  [
    'pod-sources: a bridge of pods, one of them somewhere',
    () =>
      podSources(host({ bridges: value([docker0, cni0]) }), { ...OURS, withoutPort: ['shop/web'] }, NO_GATE),
    'warn',
  ],
  [
    'pod-sources: a port that nobody knows',
    () => podSources(host({ bridges: value([cni0]) }), WITH_UNKNOWN_PORT, NO_GATE),
    'warn',
  ],
  [
    'pod-sources: a port that nobody knows, where unknown pods are denied',
    () => podSources(host({ bridges: value([cni0]) }), WITH_UNKNOWN_PORT, GATED),
    'warn',
  ],
  [
    'pod-sources: a bridge that the routes to pods tell',
    () => podSources(host({ bridges: value([lan0]) }), overLan, NO_GATE),
    'warn',
  ],
  ['pod-links: nobody has looked', () => podLinks({}), 'unknown'],
  ['pod-links: cannot be read', () => podLinks({ podRoutes: unreadable }), 'unknown'],
  ['pod-links: no pod yet', () => podLinks(linked()), 'ok'],
  ['pod-links: a veth', () => podLinks(linked(way('veth1', 'veth'))), 'ok'],
  ['pod-links: a bridge out of the node', () => podLinks(linked(way('lan0', 'bridge', true))), 'ok'],
  ['pod-links: hardware', () => podLinks(linked(way('eth0', undefined, true))), 'warn'],
  [
    'pod-links: the veth of a node that is a container',
    () => podLinks(linked(way('eth0', 'veth', true))),
    'warn',
  ],
  ['pod-links: a macvlan of the node', () => podLinks(linked(way('shim0', 'macvlan'))), 'warn'],
  ['pod-links: Open vSwitch', () => podLinks(linked(way('gw0', 'openvswitch'), way('v', 'veth'))), 'warn'],
  [
    'pod-links: a pod that has ended has the way of everybody',
    () => podLinks(linked(way('eth0', undefined, true), way('veth1', 'veth'))),
    'ok',
  ],
  [
    'pod-sources: bridges cannot be read',
    () => podSources(host({ bridges: unreadable }), OURS, NO_GATE),
    'unknown',
  ],
  ['ipvs: none', () => ipvs(HOST), 'ok'],
  ['ipvs: some', () => ipvs(host({ virtualServices: value(3) })), 'fail'],
  ['flowtables: none', () => flowtables(HOST), 'ok'],
  ['flowtables: some', () => flowtables(host({ flowtables: value(['lan of table inet router']) })), 'warn'],
  ['route-localnet: off', () => routeLocalnet(HOST, OURS), 'ok'],
  ['route-localnet: on', () => routeLocalnet(host({ localnet: value(['all']) }), OURS), 'warn'],
  [
    'route-localnet: on for the bridge of pods alone',
    () => routeLocalnet(host({ localnet: value(['cni0']), bridges: value([cni0]) }), OURS),
    'ok',
  ],
  [
    'route-localnet: on for a link of one pod',
    () => routeLocalnet(host({ localnet: value(['veth7']) }), { ...OURS, ...linked(way('veth7', 'veth')) }),
    'ok',
  ],
  [
    'route-localnet: on for links of pods that the rules do not know',
    () =>
      routeLocalnet(host({ localnet: value(['shim0']) }), { ...OURS, ...linked(way('shim0', 'macvlan')) }),
    'warn',
  ],
  [
    'route-localnet: on for the way out, which leads to pods too',
    () =>
      routeLocalnet(host({ localnet: value(['lan0']), bridges: value([lan0]) }), {
        ...OURS,
        ...linked(way('lan0', 'bridge', true)),
      }),
    'warn',
  ],
  [
    'route-localnet: on, and kube-proxy drops it',
    () => routeLocalnet(host({ localnet: value(['all']), foreignChains: value(['KUBE-FIREWALL']) }), OURS),
    'ok',
  ],
  ['source-routes: not followed', () => sourceRoutes(HOST), 'ok'],
  [
    'source-routes: followed',
    () => sourceRoutes(host({ sourceRoutes: value(['net.ipv6.conf.*.seg6_enabled']) })),
    'fail',
  ],
  ['start-gate: off', () => startGate(NO_GATE), 'ok'],
  ['start-gate: missed', () => startGate({ ...NO_GATE, gate: { kind: 'missed', why: 'none' } }), 'warn'],
  ['start-gate: connected', () => startGate(GATED), 'ok'],
  ['start-gate: lost', () => startGate({ ...GATED, gate: { kind: 'lost', why: 'ENOENT' } }), 'warn'],
  ['unknown-pods: open', () => unknownPods(NO_GATE, OURS), 'ok'],
  ['unknown-pods: denied', () => unknownPods(GATED, OURS), 'ok'],
  ['own-node: known', () => ownNode(WORK, OURS), 'ok'],
  ['own-node: misspelt', () => ownNode(WORK, ours({ unknownNode: MISSPELT })), 'fail'],
  [
    'own-node: not read yet',
    () => ownNode(work({ synced: false }), ours({ unknownNode: MISSPELT })),
    'unknown',
  ],
  ['address-owners: agreed on', () => addressOwnersKnown(OURS), 'ok'],
  [
    'address-owners: reported twice',
    () => addressOwnersKnown(ours({ contested: ['10.0.0.1: a/b on n1, and not c/d on n2'] })),
    'warn',
  ],
  [
    'address-owners: a tunnel of two nodes',
    () => addressOwnersKnown(ours({ contestedTunnels: ['10.244.2.0 of n2, n3'] })),
    'warn',
  ],
  [
    'address-owners: of a pod and a node',
    () => addressOwnersKnown(ours({ listedByNodes: ['10.0.0.1: pod a/b on n1, node n2'] })),
    'warn',
  ],
  ['unknown-pods: to be denied nobody knows where', () => unknownPods(GATED, ours({ podCidrs: [] })), 'warn'],
];

test('a node name that the cluster does not know keeps the node from being ready, and is said with the names', () => {
  const check = ownNode(WORK, { unknownNode: MISSPELT });
  expect(check.reason).toBe(
    'there is no Node nod1 and no pod on it (nodes: node1, node2): no policy is enforced here',
  );
  expect(whyNotReady([check])).toEqual([check]);
});

test('the checks of starting pods say which and why', () => {
  expect(startGate(GATED).reason).toBe(
    'containerd v2 waits for the rules of each pod: 3 started with them, 1 without',
  );
  expect(unknownPods(GATED, OURS).reason).toBe(
    'unknown pod addresses: denied in 10.244.1.0/24 and fd00:1::/64 (the start gate is on)',
  );
  expect(startGate(NO_GATE).reason).toMatch(/^off \(not asked for\): the first packets of a pod may pass/);
});

test('the check of who sends says which ports nobody knows, and what becomes of what comes by them', () => {
  const reason = (starts: PodStarts) =>
    podSources(host({ bridges: value([cni0]) }), WITH_UNKNOWN_PORT, starts).reason;
  const who = 'it is not known which pod is behind veth7, veth9 of bridge cni0';
  expect(reason(NO_GATE)).toBe(`${who}: what is behind them can send as a pod of the bridge`);
  expect(reason(GATED)).toBe(`${who}: packets that come by them are denied`);
});

test.each(CASES)('%s', (_, check, state) => {
  expect(check().state).toBe(state);
});

test.each([
  ['kindnet-network-policies', 'postrouting', 'table kindnet-network-policies'],
  ['calico', 'cali-fw-x', 'table calico'],
  ['filter', 'cali-FORWARD', 'chains cali-*'],
  ['filter', 'KUBE-ROUTER-FORWARD', 'chains KUBE-ROUTER-*'],
  ['filter', 'KUBE-FORWARD', undefined],
  ['filter', 'FORWARD', undefined],
  ['kube-proxy', 'services', undefined],
  ['sluice', 'in-K3Q7-shop/calico', undefined],
])('enforcingChain(%s, %s) is %s', (table, chain, rules) => {
  expect(enforcingChain(table, chain)).toBe(rules);
});

test('kernelFeatures() names all that is missing, and the version that has what matters', () => {
  expect(kernelFeatures({ release: '6.1.0', missingFeatures: [SLOWER, WORSE] })).toMatchObject({
    reason: 'Linux 6.1.0 has no haste, since 6.10: it takes longer; no owners, since 6.9: anybody may write',
    remedy: 'have Linux 6.9 or newer on this node',
  });
});

test('every check is tried in the states it can be in', () => {
  const tried = new Set(CASES.map(([title]) => title.split(':')[0]));
  expect([...tried].sort()).toEqual([...CHECK_NAMES].sort());
});

/** The checks that are unknown where nothing of the machine can be read. */
const OF_THE_HOST = new Set<string>([
  'ip-forward',
  'ip6-forward',
  'pod-sources',
  'ipvs',
  'flowtables',
  'route-localnet',
  'source-routes',
  'bridge-traffic-seen',
  'conntrack-fill',
  'pod-cidr-route',
  'foreign-enforcer',
]);

const FACTS = {
  work: WORK,
  host: HOST,
  ours: OURS,
  nowMs: NOW,
  starts: NO_GATE,
  kernel: NOTHING_MISSING,
  dns: NO_NAMES,
  denied: NO_DENIALS,
  memory: MEMORY,
};

describe('health()', () => {
  test('has every check once, in order', () => {
    expect(health(FACTS).checks.map(({ name }) => name)).toEqual(CHECK_NAMES);
  });

  test('speaks of one network and of several', () => {
    expect(podCidrRoute(HOST, OURS).reason).toBe('10.244.1.0/24 and fd00:1::/64 are routed');
    expect(podCidrRoute(HOST, ours({ podCidrs: [cidr('10.244.1.0/24')] })).reason).toBe(
      '10.244.1.0/24 is routed',
    );
  });

  test('says of Flannel what is wrong, with names and sizes', () => {
    expect(flannel(HOST, onFlannel({})).reason).toBe(
      'no route leads to the pods of other nodes: 10.244.2.0/24 of n2, fd00:2::/64 of n2',
    );
    const small = onFlannel({ flannelTunnels: [{ name: 'flannel.1', mtu: 1400 }] });
    expect(flannel(FLANNEL_HOST, small).reason).toBe(
      'pods on cni0 may send packets of 1450 bytes, and flannel.1 carries 1400: large ones to other nodes are lost or cut in pieces',
    );
    const shared = [{ nodes: ['n2', 'n3'], cidr: cidr('10.244.2.0/24') }];
    expect(flannel(HOST, onFlannel({ flannel: { networks: [], shared } })).reason).toBe(
      'nodes have the same pod network, and packets to its pods reach one of them: 10.244.2.0/24 of n2, n3',
    );
  });

  test('knows the pod networks of the other nodes on which flanneld has run, and those that several have', () => {
    const node = (name: string, podCidrs: string[], rest = {}): [string, Node] => [
      name,
      { name, labels: {}, addresses: [], podCidrs, hasFlannel: true, ...rest },
    ];
    const nodes = new Map([
      node('n1', ['10.244.1.0/24']),
      node('n2', ['10.244.2.0/24', 'nonsense']),
      node('n3', ['10.244.3.0/24', 'fd00:3::/64']),
      node('n4', ['10.244.3.0/24']),
      node('virtual', ['10.244.9.0/24'], { hasFlannel: undefined }),
    ]);
    expect(flannelFacts(nodes, 'n1')).toEqual({
      flannel: {
        networks: [
          { node: 'n2', cidr: cidr('10.244.2.0/24') },
          { node: 'n3', cidr: cidr('fd00:3::/64') },
        ],
        shared: [{ nodes: ['n3', 'n4'], cidr: cidr('10.244.3.0/24') }],
      },
    });
    expect([flannelFacts(nodes, 'virtual'), flannelFacts(nodes, 'unknown')]).toEqual([{}, {}]);
  });

  test('is ready where all is well', () => {
    expect(health(FACTS).ready).toBe(true);
  });

  test('is not ready before the kernel was compared, although nothing fails', () => {
    const found = health({ ...FACTS, work: { ...without('equalAtMs'), commits: [] } });
    expect(found.checks.filter(({ state }) => state === 'fail')).toEqual([]);
    expect(found.ready).toBe(false);
  });

  test.each([
    [
      'pods',
      { waitingPods: 12, waitingMs: 60_000 },
      'pods that wait for their turn: 12, the longest for 60 s',
    ],
    [
      'policies',
      {
        waitingPolicies: 1,
        waitingPoliciesMs: 29_000,
        waitingPolicyNames: ['NetworkPolicy shop/large'],
      },
      'policies that wait for their turn: 1 (NetworkPolicy shop/large), the longest for 29 s',
    ],
  ])('stays ready while %s wait for their turn, however long, and says so', (_, waiting, said) => {
    const { ready, checks } = health({ ...FACTS, work: work(waiting) });
    const found = checks.find(({ name }) => name === 'kernel-equals-desired');
    expect([ready, found?.reason]).toEqual([
      true,
      `the kernel holds what policy says, as of 100 ms ago, but for ${said}`,
    ]);
  });

  test('stays ready with warnings and with what cannot be read', () => {
    const blind = host({ bridges: unreadable, conntrack: unreadable, processes: unreadable });
    expect(health({ ...FACTS, host: blind }).ready).toBe(true);
  });

  test('never says ok where nothing can be read', () => {
    const blind: Host = {
      forwarding: { ip: unreadable, ip6: unreadable },
      bridges: unreadable,
      bridgeCalls: { ip: unreadable, ip6: unreadable },
      conntrack: unreadable,
      routes: { ip: unreadable, ip6: unreadable },
      processes: unreadable,
      foreignRules: unreadable,
      foreignChains: unreadable,
      flowtables: unreadable,
      virtualServices: unreadable,
      localnet: unreadable,
      sourceRoutes: unreadable,
    };
    const states = health({ ...FACTS, host: blind })
      .checks.filter(({ name }) => OF_THE_HOST.has(name))
      .map(({ state }) => state);
    expect(new Set(states)).toEqual(new Set(['unknown']));
  });

  test('says what to do wherever something warns or fails', () => {
    const broken = health({
      ...FACTS,
      work: work({ synced: false, failuresInARow: 1, lostSources: ['pods'] }),
      host: host({ conntrack: value({ count: 1000, max: 1000 }), processes: value(['kube-router']) }),
      ours: OURS,
      nowMs: NOW + 100_000,
    });
    const silent = broken.checks.filter(({ state, remedy }) => /warn|fail/.test(state) && remedy === '');
    expect(broken.ready).toBe(false);
    expect(silent).toEqual([]);
  });
});

test('memory() says what the cluster may take, what there is, and what resident memory is', () => {
  expect(memory({ ...MEMORY, limit: 512 * 2 ** 20 }).reason).toBe(
    '15000 pods and 1000 policies may take 148 MiB of 512 MiB; 105 MiB are resident, pages of files included that other processes may share',
  );
});

describe('conntrackFill()', () => {
  const filled = (count: number) => host({ conntrack: value({ count, max: 1000 }) });

  test('names the pods that opened most, and says how many are everybody else’s', () => {
    expect(conntrackFill(filled(800), OPENED).reason).toBe(
      '800 of 1000 entries (80 %); shop/loose opened 700, shop/web opened 60, shop/db opened 9, other pods of this node opened 3, the node and others elsewhere opened 28',
    );
    expect(conntrackFill(filled(960), { openers: value({ pods: [], others: 960 }) }).reason).toBe(
      '960 of 1000 entries (96 %): new connections are dropped soon; the node and others elsewhere opened 960',
    );
  });

  test('says how full it is also where nobody can tell who opened them', () => {
    expect(conntrackFill(filled(800), { openers: unreadable }).reason).toBe(
      '800 of 1000 entries (80 %); who opened them cannot be read: no such file',
    );
  });
});

test('isReady() needs the essential checks to be ok, and the others not to fail', () => {
  expect(isReady([finding.unknown('last-commit', '')])).toBe(false);
  expect(isReady([finding.warn('kernel-equals-desired', '', '')])).toBe(false);
  expect(isReady([finding.unknown('conntrack-fill', '')])).toBe(true);
  expect(whyNotReady([finding.fail('ip-forward', 'off', '')]).map(({ name }) => name)).toEqual([
    'ip-forward',
  ]);
});

test('a kernel that has no answer wait fails a check, and the node is ready all the same: names only allow', () => {
  const check = names({ ...HEARD, pods: 0, canWait: false });
  expect(check.reason).toBe(
    'this kernel has neither nft_queue nor xt_NFQUEUE with nft_compat: rules by domain name match nothing',
  );
  expect([check.state, isReady([check])]).toEqual(['fail', true]);
});

test.each([
  [-5, '0 ms'],
  [999, '999 ms'],
  [4400, '4 s'],
  [720_000, '12 min'],
  [18_000_000, '5 h'],
])('ageText(%i) is %s', (ms, text) => {
  expect(ageText(ms)).toBe(text);
});

test('names says how many answers went on unread for want of a share', () => {
  expect(names({ ...HEARD, counts: { ...HEARD.counts!, overBudget: 3 } }).reason).toContain(
    '; 3 went on unread because their pod or its namespace had more than its share',
  );
});
