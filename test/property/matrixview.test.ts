/** What `sluice matrix -o json` prints is what `evaluate` says: by whoever has only the names that it prints. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { matrixObject } from '../../src/cli/matrix/object.ts';
import { rowsOf } from '../../src/cli/matrix/rows.ts';
import { type Address, cidrContains, familyOf, parseCidr } from '../../src/model/address.ts';
import { addressOwners } from '../../src/model/addressowners.ts';
import type { Cluster } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import { NO_INVENTORY } from '../../src/model/inventory.ts';
import { podCidrsOf, type UnknownPods } from '../../src/model/podcidrs.ts';
import { matrixViewOf } from '../../src/reach/view.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { untoldClusterArbitrary } from '../support/arbitrary/cluster.ts';
import { addressesOf, pointsOf } from '../support/oracle/bruteforce.ts';

const CLUSTERS = Number(process.env.SLUICE_RUNS ?? 150);
const POINTS = 3;

interface Printed {
  readonly ends: readonly {
    readonly kind: string;
    readonly members: readonly string[];
    readonly parts: Readonly<Record<string, string>>;
  }[];
  readonly connections: readonly ({ readonly from: number; readonly to: number } & Record<
    'ipv4' | 'ipv6',
    Sets | null
  >)[];
}

type Ranges = readonly (readonly [number, number])[];
interface Sets {
  readonly tcp: Ranges;
  readonly udp: Ranges;
  readonly sctp: Ranges;
  readonly icmp: boolean;
  readonly protocols: Ranges;
}

test('matrix -o json has each connection that evaluate allows, and no other', () => {
  const tally = { asked: 0, allowed: 0 };
  fc.assert(
    fc.property(untoldClusterArbitrary, fc.constantFrom('allow', 'deny'), (cluster, unknownPods) => {
      const view = matrixViewOf({ cluster, inventory: NO_INVENTORY }, unknownPods);
      const rows = rowsOf(view, () => true);
      const printed = JSON.parse(JSON.stringify(matrixObject(view, rows, []))) as Printed;
      const evaluate = evaluator(cluster, unknownPods);
      const points = pointsOf(cluster);
      for (const [from, to] of pairsOf(cluster, unknownPods))
        for (let i = 0; i < POINTS; i++) {
          const flow: Flow = { from, to, ...points[(tally.asked++ * 7 + i) % points.length]! };
          const { verdict } = evaluate(flow);
          if (verdict === 'allow') tally.allowed++;
          expect(isListed(printed, cluster, flow), JSON.stringify(flow)).toBe(verdict === 'allow');
        }
    }),
    { numRuns: CLUSTERS, endOnFailure: true },
  );
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  expect(tally.allowed / tally.asked).toBeGreaterThan(0.2);
  expect(tally.allowed / tally.asked).toBeLessThan(0.8);
}, 900_000);

/**
 * One of them is a pod; left out is what stands below each matrix: a pod and itself, a node and its own pods; and where
 * nobody of a pod network may be unknown, addresses there that nobody has.
 */
function pairsOf(cluster: Cluster, unknownPods: UnknownPods): [Address, Address][] {
  const owners = addressOwners(cluster);
  const nodeAt = (address: Address) =>
    [...cluster.nodes.values()].find(({ addresses }) => addresses.includes(address))?.name;
  const podCidrs = [...cluster.nodes.values()].flatMap(podCidrsOf);
  const isUnknown = (address: Address) =>
    unknownPods === 'deny' &&
    !owners.has(address) &&
    nodeAt(address) === undefined &&
    podCidrs.some(cidr => cidrContains(cidr, address));
  const all = addressesOf(cluster).filter(address => !isUnknown(address));
  return all.flatMap(from =>
    all.flatMap((to): [Address, Address][] => {
      const [source, destination] = [owners.get(from), owners.get(to)];
      if (familyOf(from) !== familyOf(to) || (source ?? destination) === undefined || from === to) return [];
      if (source === undefined && destination!.node === nodeAt(from)) return [];
      return [[from, to]];
    }),
  );
}

function isListed({ ends, connections }: Printed, cluster: Cluster, flow: Flow): boolean {
  const [from, to] = [endAt(ends, cluster, flow.from), endAt(ends, cluster, flow.to)];
  const family = familyOf(flow.from) === 'ip' ? 'ipv4' : 'ipv6';
  const found = connections.filter(each => each.from === from && each.to === to);
  return found.some(each => includes(each[family], flow));
}

/** By names, as a reader looks for them: pods, nodes, the narrowest network, and the internet where there is none. */
function endAt(ends: Printed['ends'], cluster: Cluster, address: Address): number {
  const pod = addressOwners(cluster).get(address);
  if (pod !== undefined) return ends.findIndex(({ members }) => members.includes(`Pod ${pod.key}`));
  const node = [...cluster.nodes.values()].find(({ addresses }) => addresses.includes(address));
  if (node !== undefined)
    return ends.findIndex(
      ({ kind, members, parts }) =>
        kind === 'node' &&
        members.includes(node.name) &&
        (parts[node.name]?.split(', ').includes(address) ?? true),
    );
  const isIn = (member: string) => {
    const cidr = parseCidr(member);
    return cidr !== undefined && cidrContains(cidr, address);
  };
  const network = ends.findIndex(({ kind, members }) => kind === 'network' && members.some(isIn));
  if (network !== -1) return network;
  return ends.findIndex(({ members }) => members.includes('internet'));
}

function includes(sets: Sets | null, { protocol, port = 0 }: Flow): boolean {
  if (sets === null) return false;
  if (protocol === 'ICMP') return sets.icmp;
  const number = typeof protocol === 'number' ? protocol : port;
  const key = typeof protocol === 'number' ? 'protocols' : (protocol.toLowerCase() as 'tcp' | 'udp' | 'sctp');
  return sets[key].some(([first, last]) => first <= number && number <= last);
}
