/** Histories of a small cluster: any object may come, change, go, come again, or be spoken of before it exists. */
import fc from 'fast-check';
import type { Address } from '../../../src/model/address.ts';
import type { Cluster, ClusterEvent } from '../../../src/model/cluster.ts';
import { hostPortKey } from '../../../src/model/hostport.ts';
import {
  clusterArbitrary,
  linkedNodeArbitrary,
  namespaceArbitrary,
  podArbitrary,
  policyArbitrary,
} from './cluster.ts';

export interface Step {
  readonly event: ClusterEvent;
  /** Whether the rules are asked for after it. */
  readonly flush: boolean;
}

const gone = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 4, arbitrary: value }, { weight: 1, arbitrary: fc.constant(undefined) });

function eventOf(type: ClusterEvent['type'], key: string, value: unknown): ClusterEvent {
  return (value === undefined ? { type, key } : { type, key, value }) as ClusterEvent;
}

const pod = fc
  .tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 0, max: 2 }))
  .chain(([namespace, i]) =>
    gone(podArbitrary(namespace, `p${i}`, 10 * 'abc'.indexOf(namespace) + i + 2)).map(value =>
      eventOf('pod', `${namespace}/p${i}`, value),
    ),
  );

const namespace = fc
  .constantFrom('a', 'b', 'c')
  .chain(name => gone(namespaceArbitrary(name)).map(value => eventOf('namespace', name, value)));

const node = fc
  .constantFrom('n1', 'n2')
  .chain(name => gone(linkedNodeArbitrary(name)).map(value => eventOf('node', name, value)));

// A policy's key depends on its kind and namespace: going is made of one that came before it, or of none.
const policy = fc
  .tuple(
    fc.constantFrom('p0', 'p1', 'p2', 'p3').chain(policyArbitrary),
    fc.integer({ min: 0, max: 4 }),
    fc.integer({ min: 0, max: 5 }),
  )
  .map(([value, n, audited]) =>
    eventOf('policy', value.id, n === 0 ? undefined : audited === 0 ? { ...value, audited: true } : value),
  );

const hostPort = fc
  .record({
    protocol: fc.constantFrom('TCP' as const, 'UDP' as const),
    hostPort: fc.constantFrom(80, 443),
    podPort: fc.constantFrom(80, 8080),
    pod: fc.constantFrom('10.0.0.2', 'fd00::2').map(text => text as Address),
    owner: fc.constantFrom('a/p0', 'b/p1'),
  })
  .chain(mapping =>
    gone(fc.constant(mapping)).map(value => eventOf('hostPort', hostPortKey(mapping), value)),
  );

export const eventArbitrary: fc.Arbitrary<ClusterEvent> = fc.oneof(
  { weight: 6, arbitrary: pod },
  { weight: 2, arbitrary: namespace },
  { weight: 1, arbitrary: node },
  { weight: 5, arbitrary: policy },
  { weight: 1, arbitrary: hostPort },
);

/** Most events relabel namespaces, which affects all their pods. */
const relabelling: fc.Arbitrary<ClusterEvent> = fc.oneof(
  { weight: 4, arbitrary: namespace },
  { weight: 2, arbitrary: pod },
  { weight: 1, arbitrary: policy },
  { weight: 1, arbitrary: node },
);

/** Starts from a whole cluster, so that what follows meets something. */
export const historyArbitrary = (maxLength: number): fc.Arbitrary<Step[]> =>
  historyOf(eventArbitrary, maxLength);

/** One in which namespaces are relabelled again and again. */
export const relabellingHistoryArbitrary = (maxLength: number): fc.Arbitrary<Step[]> =>
  historyOf(relabelling, maxLength, fc.constant(true));

const historyOf = (
  events: fc.Arbitrary<ClusterEvent>,
  maxLength: number,
  flush = fc.boolean(),
): fc.Arbitrary<Step[]> =>
  fc
    .tuple(clusterArbitrary, fc.array(fc.record({ event: events, flush }), { minLength: 1, maxLength }))
    .map(([cluster, steps]) => [...stepsOf(eventsOf(cluster)), ...steps]);

/** The rules are asked for after none of them, or after those. */
export function stepsOf(
  events: readonly ClusterEvent[],
  isFlushed: (at: number, last: number) => boolean = () => false,
): Step[] {
  return events.map((event, at) => ({ event, flush: isFlushed(at, events.length - 1) }));
}

/** The events that make a cluster. */
export function eventsOf({
  namespaces,
  nodes,
  pods,
  policies,
  audited = new Map(),
}: Cluster): ClusterEvent[] {
  const events = (type: ClusterEvent['type'], map: ReadonlyMap<string, unknown>) =>
    [...map].map(([key, value]) => eventOf(type, key, value));
  return [
    ...events('namespace', namespaces),
    ...events('node', nodes),
    ...events('pod', pods),
    ...events('policy', policies),
    ...events('policy', audited),
  ];
}
