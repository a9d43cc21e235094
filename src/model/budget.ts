/**
 * What one policy may cost. An author can write policies of 1.5 MB, and all nodes pay for them: in memory, in time of
 * the agent that other changes wait for, and in time of the kernel for each packet. A policy beyond its budget isolates
 * what it selects and allows nothing (docs/decisions/0012 has the limits, docs/performance.md what was measured).
 */
import { countPairs, hasManyPairs, MANY_PAIRS, MOST_PAIRS } from './pairs.ts';
import type { Policy, Protocol, Rule } from './policy.ts';
import { countEntries } from './policysize.ts';
import { mergePorts, type NumberedPort, type PortRange } from './ports.ts';
import { countSegments, MOST_SEGMENTS } from './segments.ts';

export interface Budget {
  /** Rules, peers, exceptions, ports, and the requirements of selectors with their values (`countEntries`). */
  readonly entries: number;
  /** Rules in both directions: each may need a chain of its own. */
  readonly rules: number;
  /** Distinct selectors of peers in one direction: each may be a set of its own. */
  readonly selectors: number;
  /**
   * Port ranges of more than one port in one direction: an interval set is replaced as a whole when one of its ranges
   * changes.
   */
  readonly ranges: number;
}

/** Tenants write NetworkPolicies; cluster policies are written by the cluster's administrators. */
export const BUDGET: Readonly<Record<'namespaced' | 'cluster', Budget>> = {
  namespaced: { entries: 5_000, rules: 1_000, selectors: 250, ranges: 1_000 },
  cluster: { entries: 20_000, rules: 1_000, selectors: 1_500, ranges: 1_000 },
};

/** Requirements and values of a policy's subject: each of them may be matched against every pod. */
export const MOST_OF_SUBJECT = 1_000;

/** Rules with many ports and many peers, in one direction: a packet needs a look-up for each of them. */
const MOST_LARGE_RULES = 4;

/** How a policy exceeds its budget, as in `has 12000 entries …, and 5000 are the most`; undefined if it does not. */
export function excessOf(policy: Policy): string | undefined {
  const budget = policy.kind === 'NetworkPolicy' ? BUDGET.namespaced : BUDGET.cluster;
  const entries = countEntries(policy);
  if (entries > budget.entries) return tooManyEntries(entries, budget);
  const rules = (policy.ingress?.length ?? 0) + (policy.egress?.length ?? 0);
  if (rules > budget.rules) return `has ${rules} rules, and ${budget.rules} are the most`;
  for (const direction of [policy.ingress, policy.egress]) {
    const excess = direction && excessOfRules(direction, budget);
    if (excess !== undefined) return excess;
  }
  return undefined;
}

export function tooManyEntries(entries: number | undefined, budget: Budget): string {
  const count = entries === undefined ? `more than ${budget.entries}` : String(entries);
  return `has ${count} entries (rules, peers, exceptions, ports and values of selectors), and ${budget.entries} are the most`;
}

function excessOfRules(rules: readonly Rule[], budget: Budget): string | undefined {
  const selectors = countSelectors(rules);
  if (selectors > budget.selectors)
    return `has ${selectors} different selectors of peers in one direction, and ${budget.selectors} are the most`;
  const numbered = rules.map(({ peers, ports }) => ({
    peers,
    ports: ports === 'any' ? ports : numbersOf(ports),
  }));
  const pairs = numbered.reduce((sum, rule) => sum + countPairs(rule), 0);
  const large = pairs > MOST_PAIRS ? numbered.filter(hasManyPairs).length : 0;
  if (large > MOST_LARGE_RULES)
    return `has ${large} rules of more than ${MANY_PAIRS} pairs of a port and a peer each, and ${MOST_LARGE_RULES} are the most`;
  const ranges = numbered
    .flatMap(({ ports }) => (ports === 'any' ? [] : ports.ranges))
    .filter(({ first, last }) => first < last);
  if (ranges.length > budget.ranges)
    return `has ${ranges.length} port ranges in one direction, and ${budget.ranges} are the most`;
  const overlaps = countOverlaps(ranges);
  if (overlaps > MOST_SEGMENTS)
    return `has port ranges that overlap in ${overlaps} places, and ${MOST_SEGMENTS} are the most`;
  return undefined;
}

function countSelectors(rules: readonly Rule[]): number {
  const selectors = rules.flatMap(({ peers }) =>
    peers === 'any' ? [] : peers.flatMap(peer => ('selector' in peer ? [peer] : [])),
  );
  if (selectors.length <= BUDGET.namespaced.selectors) return selectors.length;
  return new Set(selectors.map(peer => JSON.stringify(peer))).size;
}

/** A named port counts as one more number. */
function numbersOf(ports: Exclude<Rule['ports'], 'any'>) {
  return mergePorts(ports.flatMap((port): NumberedPort[] => (port.kind === 'named' ? [] : [port])));
}

function countOverlaps(ranges: readonly PortRange[]): number {
  const protocols: readonly Protocol[] = ['TCP', 'UDP', 'SCTP'];
  return Math.max(
    ...protocols.map(protocol =>
      countSegments(ranges.filter(range => range.protocol === protocol).map(ports => ({ ports }))),
    ),
  );
}
