/** Holds the verdict of `evaluate` against a walk of the packet through what `compile` made for each node. */
import { familyOf } from '../../src/model/address.ts';
import { addressOwners, type Cluster } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import { packet } from '../../src/nft/packet.ts';
import type { Ruleset } from '../../src/nft/ruleset.ts';
import { trace } from '../../src/nft/trace.ts';
import { compile } from '../../src/policy/compile.ts';
import { evaluator, type FlowVerdict } from '../../src/policy/evaluate.ts';
import type { Situation } from './cluster-arbitrary.ts';

export interface Tally {
  packets: number;
  decidedByPolicy: number;
  denied: number;
  tiers: Record<string, number>;
}

/** One hook that the packet of a flow passes, and which directions are enforced there. */
export interface Station {
  readonly node: string;
  readonly hook: 'forward' | 'input';
  readonly egress: boolean;
  readonly ingress: boolean;
}

export function checkSituation({ cluster, flows }: Situation, tally: Tally): void {
  const evaluate = evaluator(cluster);
  const rulesets = new Map([...cluster.nodes.keys()].map(node => [node, compile(cluster, node)]));
  for (const flow of flows) {
    const expected = evaluate(flow);
    count(expected, tally);
    const wrong = wrongStation(cluster, rulesets, flow, expected);
    if (wrong !== undefined)
      throw new Error(`${JSON.stringify(flow)}: ${wrong}\nexpected ${JSON.stringify(expected, null, 1)}`);
  }
}

/** Says at which hook the kernel would do otherwise, or undefined. */
export function wrongStation(
  cluster: Cluster,
  rulesets: ReadonlyMap<string, Ruleset>,
  flow: Flow,
  expected: FlowVerdict,
): string | undefined {
  for (const station of stationsOf(cluster, flow)) {
    const { node, hook, egress, ingress } = station;
    const traced = trace(rulesets.get(node)!, familyOf(flow.from), hook, packet(flow), 'new');
    const denied =
      (egress && expected.egress.verdict === 'deny') || (ingress && expected.ingress.verdict === 'deny');
    if ((traced.verdict === 'drop') !== denied) {
      return `${node} ${hook} would ${traced.verdict}: ${JSON.stringify(traced.hits)}`;
    }
  }
  return undefined;
}

/** The hooks that a packet passes from its source to its destination (design.md §3). */
export function stationsOf(cluster: Cluster, { from, to, viaService }: Flow): Station[] {
  if (from === to && !viaService) return []; // Never leaves its pod.
  const owners = addressOwners(cluster);
  const nodeOf = (address: string) =>
    [...cluster.nodes.values()].find(node => (node.addresses as readonly string[]).includes(address))?.name;
  const [source, destination] = [owners.get(from), owners.get(to)];
  const [sourceNode, destinationNode] = [source?.node ?? nodeOf(from), destination?.node ?? nodeOf(to)];
  const stations: Station[] = [];
  if (source !== undefined && sourceNode !== undefined) {
    const local = sourceNode === destinationNode;
    const hook = local && destination === undefined ? 'input' : 'forward';
    stations.push({ node: sourceNode, hook, egress: true, ingress: local && destination !== undefined });
  }
  if (destinationNode !== undefined && destinationNode !== sourceNode) {
    const hook = destination === undefined ? 'input' : 'forward';
    stations.push({ node: destinationNode, hook, egress: false, ingress: destination !== undefined });
  }
  return stations.filter(({ node }) => cluster.nodes.has(node));
}

function count({ verdict, egress, ingress }: FlowVerdict, tally: Tally): void {
  tally.packets++;
  if (verdict === 'deny') tally.denied++;
  if (egress.policy !== undefined || ingress.policy !== undefined) tally.decidedByPolicy++;
  for (const { tier } of [egress, ingress]) tally.tiers[tier] = (tally.tiers[tier] ?? 0) + 1;
}
