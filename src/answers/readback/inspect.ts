/** What is programmed, in the words of pods and policies: read from the rules themselves. */

import { podMap } from '../../compiler/base.ts';
import { countedRule, countKey } from '../../compiler/countedrule.ts';
import { isDenial, isDenialChain } from '../../compiler/denied.ts';
import { COMMENT_BYTES } from '../../compiler/names.ts';
import { INGRESS_CHAIN } from '../../compiler/program.ts';
import { classChain, unknownPodsIn } from '../../compiler/unknownpods.ts';
import { getOrMake } from '../../lib/collections/getormake.ts';
import { FAMILIES, type Family } from '../../model/address.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { Direction } from '../../model/policy.ts';
import { formatRule } from '../../nft/format/format.ts';
import type { RuleCount } from '../../nft/rulecount.ts';
import type {
  Chain,
  ElementKey,
  Expr,
  NftRule,
  NftSet,
  NftVerdict,
  Ruleset,
  Table,
} from '../../nft/ruleset.ts';

export function inspectRuleset(ruleset: Ruleset): Inspection {
  const pods = new Map<string, Readings>();
  for (const family of FAMILIES) {
    const table = ruleset.tables.get(family);
    if (table === undefined) continue;
    for (const direction of ['ingress', 'egress'] as const) {
      for (const [address, element] of table.sets.get(podMap(direction, family).name)?.elements ?? []) {
        const chain = classChain(element);
        if (chain === undefined) continue;
        const readings = getOrMake(pods, podName(element.comment, address), newReadings);
        readings.addresses[family].add(address);
        readings[direction][family] = { chain, rules: chainRules({ family, table }, chain) };
      }
    }
  }
  return {
    installed: ruleset.tables.size > 0,
    pods: withNames(ruleset, [...pods].map(podInspection)).sort((a, b) => (a.pod < b.pod ? -1 : 1)),
    unknownPods: unknownPodsIn(ruleset),
    totals: totalsOf([...ruleset.tables.values()]),
  };
}

/** Two long names may begin alike, and the kernel has no more of them than fits into a comment. */
function podName(comment: string | undefined, address: string): string {
  if (comment === undefined) return address;
  return comment.length < COMMENT_BYTES ? comment : `${comment}… (${address})`;
}

interface FamilyTable {
  readonly family: Family;
  readonly table: Table;
}

/** All rules that the chain reaches. Our chains have no cycles, but a foreign change might make one. */
function chainRules(within: FamilyTable, name: string, seen: readonly string[] = []): RuleInspection[] {
  if (seen.includes(name)) return [];
  const chain: Chain | undefined = within.table.chains.get(name);
  return (chain?.rules ?? []).flatMap(rule => ruleInspections(within, rule, [...seen, name]));
}

function ruleInspections(within: FamilyTable, rule: NftRule, seen: readonly string[]): RuleInspection[] {
  const map = rule.exprs.find(expr => expr.kind === 'lookup' && expr.vmap);
  if (map?.kind === 'lookup') return mapRules(within, map.set, seen);
  const verdict = rule.exprs.find(expr => expr.kind === 'verdict')?.verdict;
  if (verdict === undefined) return [];
  const condition = conditionOf(within, rule);
  const own = { ...condition, ...(rule.comment !== undefined && { source: rule.comment }) };
  const next = chainOf(verdict);
  if (next === undefined || next === INGRESS_CHAIN || isDenialChain(next))
    return [{ verdict: word(verdict), ...own }];
  const behind = chainRules(within, next, seen).map(inner => ({ ...inner, ...condition }));
  return verdict.kind === 'jump' || rule.comment === undefined
    ? behind
    : [{ verdict: 'pass', ...own }, ...behind];
}

/** A rule for each thing that the elements of a port map lead to, with the ports that lead there. */
function mapRules({ family, table }: FamilyTable, name: string, seen: readonly string[]): RuleInspection[] {
  const found = new Map<string, { rule: RuleInspection; ports: ElementKey[] }>();
  for (const [key, { verdict, comment }] of table.sets.get(name)?.elements ?? []) {
    if (verdict === undefined) continue;
    const direct: NftRule = {
      exprs: [{ kind: 'verdict', verdict }],
      ...(comment !== undefined && { comment }),
    };
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

/** Kinds of expressions of a rule that are not conditions. */
const BESIDE_CONDITION: ReadonlySet<Expr['kind']> = new Set(['verdict', 'counter', 'last']);

/** The condition in words: what nft would print, with sets by their contents. */
function conditionOf({ family, table }: FamilyTable, rule: NftRule): Pick<RuleInspection, 'ports' | 'peers'> {
  const text = formatRule(family, {
    exprs: rule.exprs.filter(({ kind }) => !BESIDE_CONDITION.has(kind)),
  });
  const ports = PORTS.exec(text);
  const peers = text
    .slice(ports?.[0].length ?? 0)
    .replace(/ip6? [sd]addr (\. (ip protocol|meta l4proto) \. th dport )?/g, '')
    .replace(/@(\S+)/g, (_, set: string) => table.sets.get(set)?.comment ?? `@${set}`)
    .replace(/ != /g, ' except ')
    .replace(ALL_BUT_OTHERS, '$2')
    .trim();
  return {
    ...(ports !== null && { ports: [ports[2], ports[1]].filter(Boolean).join(' ') }),
    ...(peers !== '' && { peers }),
  };
}

// `th dport 1000-2000 ip protocol tcp`, `meta l4proto udp`.
const PORTS = /^(?:th dport ([\d-]+) )?(?:ip protocol|meta l4proto) (\w+)/;

/** A selector with NotIn is compiled as all pods without those that it does not select: `A except A but B` is B. */
const ALL_BUT_OTHERS = /^(.+) except \1 but (.+)$/;

function chainOf(verdict: NftVerdict | undefined): string | undefined {
  return verdict !== undefined && 'chain' in verdict ? verdict.chain : undefined;
}

/** A packet that egress allows goes on to `ingress`: for this direction it is accepted. */
function word(verdict: NftVerdict): RuleInspection['verdict'] {
  return isDenial(verdict) ? 'drop' : 'accept';
}

function totalsOf(tables: readonly Table[]): Inspection['totals'] {
  const sum = (count: (table: Table) => number) => tables.reduce((total, table) => total + count(table), 0);
  return {
    chains: sum(({ chains }) => chains.size),
    sets: sum(({ sets }) => sets.size),
    elements: sum(({ sets }) => [...sets.values()].reduce((total, { elements }) => total + elements.size, 0)),
  };
}

// The addresses that each pod has by answers of DNS, read from the sets of names: their elements are pairs `pod . address`.

/** Addresses that are shown of a pod and a set; a name may have a thousand. */
const MOST_ADDRESSES = 100;

function withNames(ruleset: Ruleset, pods: readonly PodInspection[]): PodInspection[] {
  const sets = namesSets(ruleset);
  if (sets.length === 0) return [...pods];
  const resolved = new Map(sets.map(set => [set, byPod(set)]));
  return pods.map(pod => {
    const names = pod.egress === undefined ? [] : namesOf(pod, resolved);
    return names.length === 0 ? pod : { ...pod, names };
  });
}

/** The sets of names of both tables; a set has the same name in both. */
function namesSets({ tables }: Ruleset): NftSet[] {
  return [...tables.values()].flatMap(({ sets }) =>
    [...sets.values()].filter(({ dynamic, key }) => dynamic !== undefined && key.length === 2),
  );
}

type AddressesByPod = ReadonlyMap<string, readonly NamedAddress[]>;

function byPod({ elements }: NftSet): AddressesByPod {
  const found = new Map<string, NamedAddress[]>();
  for (const [key, { leftMs = 0 }] of elements) {
    const [pod = '', address = ''] = key.split(' . ');
    const leftSeconds = Math.round(leftMs / 1_000);
    getOrMake(found, pod, () => []).push({ address, leftSeconds, byKernel: true });
  }
  return found;
}

function namesOf(
  { addresses }: PodInspection,
  resolved: ReadonlyMap<NftSet, AddressesByPod>,
): NamesInspection[] {
  const found = new Map<string, NamesInspection>();
  for (const [{ name: set, comment }, pods] of resolved) {
    const own = addresses.flatMap(address => pods.get(address) ?? []);
    if (own.length === 0) continue;
    const all = [...(found.get(set)?.addresses ?? []), ...own].sort((a, b) => b.leftSeconds - a.leftSeconds);
    const total = own.length + (found.get(set)?.total ?? 0);
    found.set(set, { set, peers: comment ?? set, addresses: all.slice(0, MOST_ADDRESSES), total });
  }
  return [...found.values()];
}

// Merges a pod's rules of two families into one list: rules of both families occur once, rules of one family with its
// name.

/** The readings of one pod, family by family. */
interface Readings extends Record<Direction, Partial<Record<Family, DirectionInspection>>> {
  readonly addresses: Record<Family, Set<string>>;
}

export function newReadings(): Readings {
  return { addresses: { ip: new Set(), ip6: new Set() }, ingress: {}, egress: {} };
}

export function podInspection([pod, readings]: readonly [string, Readings]): PodInspection {
  const families = FAMILIES.filter(family => readings.addresses[family].size > 0);
  const ingress = merged(readings.ingress, families);
  const egress = merged(readings.egress, families);
  return {
    pod,
    addresses: families.flatMap(family => [...readings.addresses[family]]),
    ...(ingress && { ingress }),
    ...(egress && { egress }),
  };
}

function merged(
  read: Partial<Record<Family, DirectionInspection>>,
  families: readonly Family[],
): DirectionInspection | undefined {
  const { chain } = read.ip ?? read.ip6 ?? {};
  if (chain === undefined) return undefined;
  if (families.length === 1) return read[families[0]!];
  return { chain, rules: inOneOrder(read.ip?.rules ?? OPEN, read.ip6?.rules ?? OPEN) };
}

/** The result for a family without a chain for the direction. */
const OPEN: readonly RuleInspection[] = [{ verdict: 'accept' }];

/** Every rule in the order in which its family asks; a rule is one for both where that breaks neither order. */
function inOneOrder(ip: readonly RuleInspection[], ip6: readonly RuleInspection[]): RuleInspection[] {
  const rules: RuleInspection[] = [];
  const places = Map.groupBy(ip6.keys(), at => JSON.stringify(ip6[at]));
  let next = 0;
  for (const rule of ip) {
    const at = places.get(JSON.stringify(rule))?.find(place => place >= next);
    if (at === undefined) rules.push({ ...rule, family: 'ip' });
    else {
      rules.push(...only('ip6', ip6.slice(next, at)), rule);
      next = at + 1;
    }
  }
  return [...rules, ...only('ip6', ip6.slice(next))];
}

function only(family: Family, rules: readonly RuleInspection[]): RuleInspection[] {
  return rules.map(rule => ({ ...rule, family }));
}

// What is programmed, as data: by pod, direction and rule.

export interface Inspection {
  /** Whether our tables exist. */
  readonly installed: boolean;
  readonly pods: readonly PodInspection[];
  /** The treatment of addresses in the node's pod networks that no known pod has. */
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
  /** The sets of names that its rules use, with the addresses that DNS gave the pod. */
  readonly names?: readonly NamesInspection[];
}

export interface NamedAddress {
  readonly address: string;
  /** How long new connections are allowed to it. */
  readonly leftSeconds: number;
  /** No agent knows: the kernel keeps the address so long, at most, and an agent may take it back before. */
  readonly byKernel?: true;
}

/** The names of a run of rules, and the addresses that are allowed by them now. */
export interface NamesInspection {
  readonly set: string;
  /** `domains logs.example, *.cloud.example`; of very many the first. */
  readonly peers: string;
  /** Addresses that hold longest come first; at most MOST_ADDRESSES are listed. */
  readonly addresses: readonly NamedAddress[];
  readonly total: number;
}

export interface DirectionInspection {
  readonly chain: string;
  /** The rules in the kernel's order; the last one has no condition. */
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
  /** Set if the pod has addresses of both families, and only this one has the rule. */
  readonly family?: Family;
  /** New connections, or denied packets, that rules from this source have matched on the node since they were written. */
  readonly matched?: number;
  /** How long before it was read that was last; absent where it never was, or where the kernel does not remember. */
  readonly lastMatchedMsAgo?: number;
}

// The packets that the rules of an inspection have matched.

type Matched = Required<Pick<RuleInspection, 'matched'>> & Pick<RuleInspection, 'lastMatchedMsAgo'>;

/** The inspection with the counts of its rules, each over all pods of the node that have the rule. */
export function withCounts(inspection: Inspection, counts: readonly RuleCount[]): Inspection {
  const sums = new Map<string, Matched>();
  for (const count of counts) {
    const rule = countedRule(count);
    if (rule !== undefined) sums.set(countKey(rule), together(sums.get(countKey(rule)), count));
  }
  return { ...inspection, pods: inspection.pods.map(pod => podCounts(pod, sums)) };
}

function together(before: Matched | undefined, { packets, lastMsAgo }: RuleCount): Matched {
  const lastMatchedMsAgo = least(before?.lastMatchedMsAgo, lastMsAgo);
  return {
    matched: (before?.matched ?? 0) + packets,
    ...(lastMatchedMsAgo !== undefined && { lastMatchedMsAgo }),
  };
}

function least(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

function podCounts(pod: PodInspection, sums: ReadonlyMap<string, Matched>): PodInspection {
  const of = (direction: Direction) => {
    const inspected = pod[direction];
    return (
      inspected && {
        ...inspected,
        rules: inspected.rules.map(rule => {
          const { verdict: action, source = '' } = rule;
          return { ...rule, ...sums.get(countKey({ direction, action, source })) };
        }),
      }
    );
  };
  const [ingress, egress] = [of('ingress'), of('egress')];
  return { ...pod, ...(ingress && { ingress }), ...(egress && { egress }) };
}
