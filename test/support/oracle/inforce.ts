/**
 * Asserts that the rules in force are those that `compile` makes of the taken part of the cluster, whatever happened
 * before.
 */
import type { PodInForce } from '../../../src/agent/engine.ts';
import { compile } from '../../../src/compiler/compile.ts';
import { withPrepared } from '../../../src/compiler/prepared.ts';
import {
  type Cluster,
  type ClusterEvent,
  ClusterState,
  type Pod,
  type PodKey,
} from '../../../src/model/cluster.ts';
import type { Expr, NftRule, NftVerdict, Ruleset, Table } from '../../../src/nft/ruleset.ts';
import { type Enforced, PLAIN } from '../arbitrary/enforced.ts';

/** Throws where the rules are others, or where there are any beside them. Answers what `compile` makes. */
export function assertExactly(ruleset: Ruleset, cluster: Cluster, how?: Enforced): Ruleset {
  const wanted = desired(cluster, how);
  assertSame(ruleset, wanted);
  return wanted;
}

/** The same, where pods may wait, which are in force as they were, and where what classes need may go ahead, to which no packet comes yet. */
export function assertInForce(
  ruleset: Ruleset,
  cluster: Cluster,
  pods: ReadonlyMap<PodKey, Pod | PodInForce | undefined> = new Map(),
  how?: Enforced,
): void {
  const wanted = desired(withPods(cluster, pods), how);
  assertSame(ruleset, withPrepared(wanted, ruleset));
  assertNothingDangles(wanted, ruleset);
}

export function clusterOf(events: readonly ClusterEvent[]): ClusterState {
  const state = new ClusterState();
  for (const event of events) state.apply(event);
  return state;
}

function desired(cluster: Cluster, { unknownPods, podLinks, dnsQueue } = PLAIN): Ruleset {
  return compile(cluster, 'n1', unknownPods, podLinks, dnsQueue);
}

/** The cluster that the rules in force were made from. */
function withPods(cluster: Cluster, inForce: ReadonlyMap<PodKey, Pod | PodInForce | undefined>): Cluster {
  const { namespaces, nodes, policies, audited, hostPorts } = cluster;
  const pods = new Map(cluster.pods);
  for (const [key, known] of inForce)
    if (known === undefined) pods.delete(key);
    else pods.set(key, 'pod' in known ? { ...known.pod, namespaceInForce: known.namespace } : known);
  return { namespaces, nodes, policies, pods, ...(audited && { audited }), ...(hostPorts && { hostPorts }) };
}

function assertSame(ruleset: Ruleset, wanted: Ruleset): void {
  const [got, desired] = [text(ruleset), text(wanted)];
  if (got === desired) return;
  const [ours, theirs] = [got.split('\n'), desired.split('\n')];
  const line = ours.findIndex((text, i) => text !== theirs[i]);
  throw new Error(
    `the rules are not what compile makes:\n  in force ${ours[line]}\n  compile  ${theirs[line]}`,
  );
}

/** Names and contents in a fixed order, whatever the order in which they were made. */
export function text(ruleset: Ruleset): string {
  const tables = [...ruleset.tables].map(([family, { chains, sets }]) => [
    family,
    named(chains),
    named(sets),
  ]);
  return JSON.stringify(tables, null, 1);
}

function named(objects: ReadonlyMap<string, object>): string[] {
  return [...objects.keys()].sort().map(name => objectText(objects.get(name)!));
}

const texts = new WeakMap<object, string>();

function objectText(object: object): string {
  const known = texts.get(object);
  if (known !== undefined) return known;
  const made = JSON.stringify(object, (key, value) => (key === 'elements' ? [...value].sort() : value));
  texts.set(object, made);
  return made;
}

/** Throws where something beside what is wanted leads to what is not there, which the kernel refuses. */
function assertNothingDangles(wanted: Ruleset, { tables }: Ruleset): void {
  for (const [family, table] of tables) {
    const known = wanted.tables.get(family);
    for (const { name, rules } of table.chains.values())
      if (!known?.chains.has(name)) assertThere(name, rules.flatMap(namedByRule), table);
    for (const { name, verdicts, elements } of table.sets.values())
      if (verdicts && !known?.sets.has(name))
        assertThere(name, [...elements.values()].flatMap(namedByElement), table);
  }
}

function assertThere(user: string, names: readonly string[], { sets, chains }: Table): void {
  const missing = names.find(name => !sets.has(name) && !chains.has(name));
  if (missing !== undefined) throw new Error(`${user} is ahead and leads to ${missing}, which is not there`);
}

function namedByRule({ exprs }: NftRule): string[] {
  return exprs.flatMap(expr => ('set' in expr ? [expr.set] : namedByElement({ verdict: verdictOf(expr) })));
}

function verdictOf(expr: Expr): NftVerdict | undefined {
  return expr.kind === 'verdict' ? expr.verdict : undefined;
}

function namedByElement({ verdict }: { readonly verdict?: NftVerdict | undefined }): string[] {
  return verdict !== undefined && 'chain' in verdict ? [verdict.chain] : [];
}
