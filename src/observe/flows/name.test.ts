import { expect, test } from 'vitest';
import { nodeEvent, shopPod } from '../../../test/support/scenarios/shop.ts';
import type { Address } from '../../model/address.ts';
import { type ClusterEvent, ClusterState, type PodKey } from '../../model/cluster.ts';
import { ModelView } from '../denials/modelview.ts';
import { Namer } from './name.ts';
import { flowOf } from './seenflow.ts';

const at = (text: string) => text as Address;

function namer(...events: ClusterEvent[]): Namer {
  const state = new ClusterState();
  const view = new ModelView(state, { node: 'n1', unknownPods: 'deny', now: () => 0 });
  for (const event of events) {
    view.apply(event);
    state.apply(event);
  }
  return new Namer(view);
}

function withPodCidrs(event: ClusterEvent, podCidrs: readonly string[]): ClusterEvent {
  return event.type === 'node' ? { ...event, value: { ...event.value!, podCidrs } } : event;
}

const KNOWN = [
  withPodCidrs(nodeEvent('n1', ['172.18.0.1', '10.1.0.254']), ['10.1.0.0/24', 'fd00:1::/64']),
  nodeEvent('n2', ['172.18.0.2']),
  shopPod('shop/db', 'n1', ['10.1.0.1', 'fd00:1::1']),
  shopPod('shop/web', 'n1', ['10.1.0.2']),
  shopPod('far/away', 'n2', ['10.2.0.1']),
];

const tcp = (from: string, to: string) =>
  ({ flow: { from: at(from), to: at(to), protocol: 'TCP', port: 80 } }) as const;

test.each([
  ['10.2.0.1', '10.1.0.1', ['ingress']],
  ['10.1.0.1', '10.2.0.1', ['egress']],
  ['10.1.0.1', '10.1.0.2', ['egress', 'ingress']],
  ['10.1.0.99', '9.9.9.9', ['egress']],
  ['172.18.0.1', '10.1.0.1', ['ingress']],
  ['fd00:1::99', '2001:db8::1', ['egress']],
  ['10.1.0.254', '9.9.9.9', undefined],
  ['10.2.0.1', '9.9.9.9', undefined],
  ['172.18.0.1', '172.18.0.2', undefined],
])('from %s to %s this node judges %j', (from, to, directions) => {
  expect(namer(...KNOWN).name(tcp(from, to))?.directions).toEqual(directions);
});

test('ends have the names of pods, nodes and nobody, and what was dialled is kept', () => {
  const dialled = { address: at('10.96.0.1'), port: 8080 };
  const named = namer(...KNOWN).name({ ...tcp('172.18.0.2', '10.1.0.1'), sourcePort: 7, dialled })!;
  expect(named).toMatchObject({
    from: { address: '172.18.0.2', node: 'n2' },
    to: { pod: 'shop/db' },
    service: dialled,
    sourcePort: 7,
    family: 'ip',
  });
  expect(flowOf({ ...named, number: 1, atMs: 0 })).toEqual({
    ...tcp('172.18.0.2', '10.1.0.1').flow,
    viaService: true,
  });
  expect(namer(...KNOWN).name(tcp('2001:db8::1', 'fd00:1::1'))).toMatchObject({
    from: { address: '2001:db8::1' },
    family: 'ip6',
  });
});

test('a pod that has just gone is a pod of this node', () => {
  const named = namer(...KNOWN, { type: 'pod', key: 'shop/db' }).name(tcp('10.1.0.1', '9.9.9.9'));
  expect(named).toMatchObject({ from: { pod: 'shop/db', gone: true }, directions: ['egress'] });
});

test('the Service that was dialled has its name, and an address of our interfaces is the node', () => {
  const state = new ClusterState();
  const view = new ModelView(state, { node: 'n1', unknownPods: 'deny', now: () => 0 });
  for (const event of KNOWN) view.apply(event);
  const named = new Namer(view, {
    serviceOf: ({ address, port }) => (address === '10.96.0.1' ? `shop/${port}` : undefined),
    ownAddresses: new Set([at('10.1.0.253')]),
  });
  const dialled = { address: at('10.96.0.1'), port: 8080 };
  expect(named.name({ ...tcp('10.2.0.1', '10.1.0.1'), dialled })?.service).toEqual({
    ...dialled,
    name: 'shop/8080',
  });
});

test('labels of more than 4 KB are left out, and the workload is not', () => {
  const labels = (count: number) => ({
    'pod-template-hash': 'x1',
    ...Object.fromEntries(Array.from({ length: count }, (_, n) => [`l${n}`, 'v'.repeat(63)])),
  });
  const labelled = (key: PodKey, address: string, count: number): ClusterEvent => {
    const event = shopPod(key, 'n1', [address]);
    return event.type === 'pod' ? { ...event, value: { ...event.value!, labels: labels(count) } } : event;
  };
  const pods = [labelled('shop/few-x1-a', '10.1.0.3', 50), labelled('shop/many-x1-a', '10.1.0.4', 60)];
  const named = namer(...KNOWN, ...pods).name(tcp('10.1.0.3', '10.1.0.4'))!;
  expect(named.from.labels).toEqual(labels(50));
  expect(named.to).toEqual({
    address: '10.1.0.4',
    pod: 'shop/many-x1-a',
    workload: 'Deployment shop/many',
    nodeName: 'n1',
  });
});
