/** What stands in the kernel, in the words of pods and policies: read from the rules themselves. */

import { podMap } from '../compiler/base.ts';
import { getOrMake } from '../compiler/live/podindex.ts';
import { INGRESS_CHAIN } from '../compiler/program.ts';
import { classChain, standing } from '../compiler/unknownpods.ts';
import { FAMILIES, type Family } from '../model/address.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import type { Direction } from '../model/policy.ts';
import { formatRule } from '../nft/format/format.ts';
import type { Chain, ElementKey, Rule, Ruleset, Table, Verdict } from '../nft/ruleset.ts';

export interface Inspection {
  /** Whether our tables stand at all. */
  readonly installed: boolean;
  readonly pods: readonly PodInspection[];
  /** What becomes of addresses of the node's pod networks that no known pod has. */
  readonly unknownPods: UnknownPods;
  /** Over both families. */
  readonly totals: { readonly chains: number; readonly sets: number; readonly elements: number };
}

export interface PodInspection {
  /** `namespace/name`, as the kernel has it in a comment. */
  readonly pod: string;
  readonly addresses: readonly string[];
  /** Absent: no policy affects the direction. */
  readonly ingress?: DirectionInspection;
  readonly egress?: DirectionInspection;
}

export interface DirectionInspection {
  readonly chain: string;
  /** In the order in which the kernel asks; the last one has no condition. */
  readonly rules: readonly RuleInspection[];
}

export interface RuleInspection {
  readonly verdict: 'accept' | 'drop' | 'pass';
  /** `tcp 5432`, or absent where the port does not matter. */
  readonly ports?: string;
  /** `pods app=api in namespace shop`, or absent where the peer does not matter. */
  readonly peers?: string;
  /** The policy rule that it came from; absent where no policy decided. */
  readonly source?: string;
}

export function inspectRuleset(ruleset: Ruleset): Inspection {
  const pods = new Map<string, PodInspection>();
  for (const family of FAMILIES) {
    const table = ruleset.tables.get(family);
    if (table === undefined) continue;
    for (const direction of ['ingress', 'egress'] as const) {
      for (const [address, element] of table.sets.get(podMap(direction, family).name)?.elements ?? []) {
        const pod = element.comment ?? address;
        const chain = classChain(element);
        if (chain === undefined) continue;
        const rules = chainRules({ family, table }, chain);
        pods.set(pod, withDirection(pods.get(pod), pod, address, direction, { chain, rules }));
      }
    }
  }
  return {
    installed: ruleset.tables.size > 0,
    pods: [...pods.values()].sort((a, b) => (a.pod < b.pod ? -1 : 1)),
    unknownPods: standing(ruleset),
    totals: totalsOf([...ruleset.tables.values()]),
  };
}

/** Both families say the same but for networks. */
function withDirection(
  before: PodInspection | undefined,
  pod: string,
  address: string,
  direction: Direction,
  { chain, rules }: DirectionInspection,
): PodInspection {
  const addresses = [...new Set([...(before?.addresses ?? []), address])];
  const known = before?.[direction]?.rules ?? [];
  return { ...before, pod, addresses, [direction]: { chain, rules: merged(known, rules) } };
}

/** What only the second list has goes right behind what it follows there: tiers stay in their order. */
function merged(first: readonly RuleInspection[], second: readonly RuleInspection[]): RuleInspection[] {
  const rules = [...first];
  let next = 0;
  for (const rule of second) {
    const at = rules.findIndex(other => JSON.stringify(other) === JSON.stringify(rule));
    if (at < 0) rules.splice(next, 0, rule);
    next = at < 0 ? next + 1 : at + 1;
  }
  return rules;
}

interface Place {
  readonly family: Family;
  readonly table: Table;
}

/** Every rule that the chain leads to. Our chains never lead back, but a foreign hand might make them. */
function chainRules(place: Place, name: string, seen: readonly string[] = []): RuleInspection[] {
  if (seen.includes(name)) return [];
  const chain: Chain | undefined = place.table.chains.get(name);
  return (chain?.rules ?? []).flatMap(rule => ruleInspections(place, rule, [...seen, name]));
}

function ruleInspections(place: Place, rule: Rule, seen: readonly string[]): RuleInspection[] {
  const map = rule.exprs.find(expr => expr.kind === 'lookup' && expr.vmap);
  if (map?.kind === 'lookup') return mapRules(place, map.set, seen);
  const verdict = rule.exprs.find(expr => expr.kind === 'verdict')?.verdict;
  if (verdict === undefined) return [];
  const condition = conditionOf(place, rule);
  const own = { ...condition, ...(rule.comment !== undefined && { source: rule.comment }) };
  const next = chainOf(verdict);
  if (next === undefined || next === INGRESS_CHAIN) return [{ verdict: word(verdict), ...own }];
  const behind = chainRules(place, next, seen).map(inner => ({ ...inner, ...condition }));
  return verdict.kind === 'jump' || rule.comment === undefined
    ? behind
    : [{ verdict: 'pass', ...own }, ...behind];
}

/** A rule for each thing that the elements of a port map lead to, with the ports that lead there. */
function mapRules({ family, table }: Place, name: string, seen: readonly string[]): RuleInspection[] {
  const found = new Map<string, { rule: RuleInspection; ports: ElementKey[] }>();
  for (const [key, { verdict, comment }] of table.sets.get(name)?.elements ?? []) {
    if (verdict === undefined) continue;
    const direct: Rule = { exprs: [{ kind: 'verdict', verdict }], ...(comment !== undefined && { comment }) };
    for (const rule of ruleInspections({ family, table }, direct, seen)) {
      const entry = found.get(JSON.stringify(rule)) ?? { rule, ports: [] };
      entry.ports.push(key);
      found.set(JSON.stringify(rule), entry);
    }
  }
  return [...found.values()].map(({ rule, ports }) => ({ ...rule, ports: portsText(ports) }));
}

/** `tcp 80, 443, 8000-8003, udp 53` for the keys of a port map. */
function portsText(keys: readonly ElementKey[]): string {
  const ports = new Map<string, number[]>();
  for (const key of keys) {
    const [protocol = '', port = ''] = key.split(' . ');
    getOrMake(ports, protocol, () => []).push(Number(port));
  }
  const protocols = [...ports].sort(([a], [b]) => (a < b ? -1 : 1));
  return protocols.map(([protocol, numbers]) => `${protocol} ${runsText(numbers)}`).join(', ');
}

/** `80, 8000-8003`. */
function runsText(numbers: readonly number[]): string {
  const runs: { first: number; last: number }[] = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const run = runs.at(-1);
    if (run !== undefined && number === run.last + 1) run.last = number;
    else runs.push({ first: number, last: number });
  }
  return runs.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join(', ');
}

/** The condition in words: what nft would write, with sets by what they hold. */
function conditionOf({ family, table }: Place, rule: Rule): Pick<RuleInspection, 'ports' | 'peers'> {
  const text = formatRule(family, { exprs: rule.exprs.filter(({ kind }) => kind !== 'verdict') });
  const ports = PORTS.exec(text);
  const peers = text
    .slice(ports?.[0].length ?? 0)
    .replace(/ip6? [sd]addr (\. (ip protocol|meta l4proto) \. th dport )?/g, '')
    .replace(/@(\S+)/g, (_, set: string) => table.sets.get(set)?.comment ?? `@${set}`)
    .replace(/ != /g, ' except ')
    .trim();
  return {
    ...(ports !== null && { ports: [ports[2], ports[1]].filter(Boolean).join(' ') }),
    ...(peers !== '' && { peers }),
  };
}

// `th dport 1000-2000 ip protocol tcp`, `meta l4proto udp`.
const PORTS = /^(?:th dport ([\d-]+) )?(?:ip protocol|meta l4proto) (\w+)/;

function chainOf(verdict: Verdict | undefined): string | undefined {
  return verdict !== undefined && 'chain' in verdict ? verdict.chain : undefined;
}

/** A packet that egress allows goes on to `ingress`: for this direction it is accepted. */
function word(verdict: Verdict): RuleInspection['verdict'] {
  return verdict.kind === 'drop' ? 'drop' : 'accept';
}

function totalsOf(tables: readonly Table[]): Inspection['totals'] {
  const sum = (count: (table: Table) => number) => tables.reduce((total, table) => total + count(table), 0);
  return {
    chains: sum(({ chains }) => chains.size),
    sets: sum(({ sets }) => sets.size),
    elements: sum(({ sets }) => [...sets.values()].reduce((total, { elements }) => total + elements.size, 0)),
  };
}
