/** From an event to the rules in force, without the time that the bucket of commits makes it wait. */
import type { ClusterEvent, Pod } from '../src/model/cluster.ts';
import type { Policy } from '../src/model/policy.ts';
import { EVERYTHING } from '../src/model/selector.ts';
import {
  BIG,
  benchAddresses,
  benchCluster,
  NODE,
  namespaceEvent,
  podEvent,
  policyEvent,
  withLabel,
} from './cluster.ts';
import { Follower } from './follower.ts';
import { absolute, againstFloor, type BenchRow, median, percentile } from './row.ts';

const SIZE = { pods: 10_000, policies: 1000 };
const POD_EVENTS = 1200;
const POLICY_EVENTS = 400;
const RELABELS = 9;
const TENANTS = 2;
const MOVED = 5000;
/** Figures of two sizes are taken in turns, so that a busy machine is busy for both. */
const TURNS = 12;

export async function benchEvents(): Promise<BenchRow[]> {
  return [...(await oneSize()), ...(await relabel()), ...(await twoSizes())];
}

async function oneSize(): Promise<BenchRow[]> {
  const cluster = benchCluster(SIZE);
  const follower = await followerOf(cluster);
  const pods = await timesOf(follower, podEvents(cluster, POD_EVENTS));
  const policies = await timesOf(follower, policyEvents(cluster, POLICY_EVENTS));
  follower.close();
  return [
    absolute('remote pod event, p50', 'ms', median(pods), 1),
    absolute('remote pod event, p99', 'ms', percentile(pods, 99), 5),
    absolute('policy event, p50', 'ms', median(policies), 5),
    absolute('policy event, p99', 'ms', percentile(policies, 99), 20),
  ];
}

/** A namespace of 5,000 pods changes hands: its pods leave one group of peers and join another. */
async function relabel(): Promise<BenchRow[]> {
  const follower = await followerOf(benchCluster({ ...SIZE, big: MOVED }));
  const tenant = (i: number) => namespaceEvent(BIG, { tenant: `tenant-${i % TENANTS}` });
  await follower.follow(...Array.from({ length: TENANTS }, (_, i) => policyEvent(lettingIn(`tenant-${i}`))));
  await follower.follow(tenant(0));
  const times = await timesOf(
    follower,
    Array.from({ length: RELABELS }, (_, i) => tenant(i + 1)),
  );
  follower.close();
  return [absolute('namespace relabel that moves 5,000 pods', 'ms', median(times), 50)];
}

function lettingIn(tenant: string): Policy {
  const selector = {
    namespaces: { kind: 'labels', selector: withLabel('tenant', tenant) },
    pods: EVERYTHING,
  } as const;
  return {
    id: `NetworkPolicy ns-0/${tenant}`,
    kind: 'NetworkPolicy',
    name: `ns-0/${tenant}`,
    tier: 'networkpolicy',
    order: 0,
    subject: { namespaces: { kind: 'name', name: 'ns-0' }, pods: EVERYTHING },
    ingress: [{ path: 'ingress[0]', action: 'accept', peers: [{ kind: 'pods', selector }], ports: 'any' }],
  };
}

async function twoSizes(): Promise<BenchRow[]> {
  const sides = await Promise.all(
    [15_000, 1500].map(async pods => {
      const cluster = benchCluster({ ...SIZE, pods });
      return {
        follower: await followerOf(cluster),
        events: podEvents(cluster, POD_EVENTS),
        times: [] as number[],
      };
    }),
  );
  for (let turn = 0; turn < TURNS; turn++)
    for (const { follower, events, times } of sides)
      times.push(...(await timesOf(follower, events.splice(0, POD_EVENTS / TURNS))));
  for (const { follower } of sides) follower.close();
  const [big, small] = sides.map(({ times }) => median(times));
  return [againstFloor('remote pod event, 15,000 : 1,500 pods', 'ms', big!, small!, 1.5)];
}

async function followerOf(cluster: readonly ClusterEvent[]): Promise<Follower> {
  const follower = await Follower.start();
  await follower.follow(...cluster);
  return follower;
}

async function timesOf(follower: Follower, events: readonly ClusterEvent[]): Promise<number[]> {
  const times: number[] = [];
  for (const event of events) times.push(await follower.follow(event));
  return times;
}

/** Pods of other nodes go, come back with other addresses, and change their app, in turn. */
function podEvents(cluster: readonly ClusterEvent[], count: number): ClusterEvent[] {
  const remote = cluster.flatMap(({ type, value }) =>
    type === 'pod' && value?.node !== NODE ? [value!] : [],
  );
  return Array.from({ length: count / 3 }, (_, i) => {
    const pod = remote[(i * 7919) % remote.length]!;
    return podLife(pod, 1_000_000 + i);
  }).flat();
}

function podLife(pod: Pod, address: number): ClusterEvent[] {
  const back: Pod = { ...pod, addresses: benchAddresses(address) };
  return [
    { type: 'pod', key: pod.key },
    podEvent(back),
    podEvent({ ...back, labels: { ...back.labels, app: pod.labels.app === 'app-3' ? 'app-4' : 'app-3' } }),
  ];
}

/** Policies go, come back, and change their port, in turn. */
function policyEvents(cluster: readonly ClusterEvent[], count: number): ClusterEvent[] {
  const policies = cluster.flatMap(({ type, value }) => (type === 'policy' ? [value!] : []));
  return Array.from({ length: count / 4 }, (_, i) => policyLife(policies[(i * 7) % policies.length]!)).flat();
}

function policyLife(policy: Policy): ClusterEvent[] {
  const edited: Policy = {
    ...policy,
    ingress: policy.ingress!.map(rule => ({
      ...rule,
      ports: [{ kind: 'range', protocol: 'TCP', first: 7777, last: 7777 }],
    })),
  };
  return [policyEvent(edited), policyEvent(policy), { type: 'policy', key: policy.id }, policyEvent(policy)];
}
