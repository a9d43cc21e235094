import { expect, test } from 'vitest';
import type { Address } from '../../model/address.ts';
import { type ClusterEvent, ClusterState } from '../../model/cluster.ts';
import type { HostPortMapping } from '../../model/hostport.ts';
import { AgentHostPorts } from './podnetwork.ts';

const WEB: HostPortMapping = {
  protocol: 'TCP',
  hostPort: 80,
  pod: '10.0.0.5' as Address,
  podPort: 8080,
  owner: 'shop/web',
};
const DB = { ...WEB, pod: '10.0.0.6' as Address, owner: 'shop/db' };
const POD: ClusterEvent = { type: 'pod', key: 'shop/web' };

function agent() {
  const cluster = new ClusterState();
  const noted: [string[], boolean][] = [];
  const apply = (events: readonly ClusterEvent[], { urgent = false } = {}) => {
    for (const event of events) cluster.apply(event);
    if (events.length > 0) noted.push([events.map(({ type }) => type), urgent]);
  };
  return { cluster, apply, noted };
}

test('a port is mapped at once, and goes with the events of its pod, before them', () => {
  const fake = agent();
  const ports = new AgentHostPorts(fake, async () => {});
  ports.change([], [WEB]);
  expect([ports.mappings(), fake.noted]).toEqual([[WEB], []]);
  ports.note([POD], { urgent: true });
  expect([ports.mappings(), fake.noted]).toEqual([[WEB], [[['hostPort', 'pod'], true]]]);
  ports.publish({ urgent: true });
  expect(fake.noted).toHaveLength(1);
});

test('a port that changes hands before it has gone is the last one’s', () => {
  const fake = agent();
  const ports = new AgentHostPorts(fake, async () => {});
  ports.change([], [WEB]);
  ports.change([WEB], [DB]);
  expect(ports.mappings()).toEqual([DB]);
  ports.publish({ urgent: false });
  expect([...fake.cluster.hostPorts.values()]).toEqual([DB]);
  ports.change([DB], []);
  expect(ports.mappings()).toEqual([]);
});
