/** Walks a packet through a ruleset like the kernel (nft_do_chain), and records which rules decided. */

import type { BaseHook, Chain, ElementKey, Family, NftRule, NftVerdict, Ruleset, Table } from '../ruleset.ts';
import { type CtState, Machine, type PacketContext, type Translation } from './machine.ts';

export interface Trace {
  readonly verdict: 'accept' | 'drop';
  /** The rules that matched, with or without a verdict, in the order in which the packet met them. */
  readonly hits: readonly Hit[];
}

export interface Hit {
  readonly chain: string;
  /** The index of the rule in its chain. */
  readonly rule: number;
  readonly comment?: string;
  readonly verdict?: NftVerdict;
  /** How the rule translated the connection, if it did. */
  readonly translation?: Translation;
  /** The element whose verdict it was, if the rule looked it up in a map. */
  readonly element?: { readonly set: string; readonly key: ElementKey; readonly comment?: string };
}

/**
 * `packet` begins with its IP header. IPv6 extension headers are not parsed. `around` describes what differs from the
 * default surroundings of a packet.
 */
export function trace(
  ruleset: Ruleset,
  family: Family,
  hook: BaseHook['hook'],
  packet: Uint8Array,
  ctState: CtState,
  around: Partial<PacketContext> = {},
): Trace {
  const hits: Hit[] = [];
  const table = ruleset.tables.get(family);
  if (table === undefined) return { verdict: 'accept', hits };
  const machine = new Machine(table, family, hook, packet, ctState, around);
  for (const base of baseChains(table, hook)) {
    if (base.hook?.type === 'nat' && !isAsked(ctState, hits)) continue;
    // An accept ends one base chain; a drop ends the packet's way.
    const verdict = walk(table, base, machine, hits) ?? base.hook!.policy;
    if (verdict === 'drop') return { verdict, hits };
  }
  return { verdict: 'accept', hits };
}

/**
 * The verdict of a chain on a packet that is led there; undefined if it has none. Reaching the chain `end` counts as
 * accepted.
 */
export function verdictFrom(
  table: Table,
  chain: string,
  machine: Machine,
  end: string,
): 'accept' | 'drop' | undefined {
  return walk(table, startOf(table, chain).chain, machine, [], end);
}

function baseChains(table: Table, hook: BaseHook['hook']): Chain[] {
  const chains = [...table.chains.values()].filter(chain => chain.hook?.hook === hook);
  return chains.sort((a, b) => a.hook!.priority - b.hook!.priority);
}

/**
 * nf_nat_inet_fn: only the packet that opens a connection runs through nat chains, until one chain of the hook has
 * translated it.
 */
function isAsked(ctState: CtState, hits: readonly Hit[]): boolean {
  return (ctState === 'new' || ctState === 'related') && hits.every(({ translation }) => !translation);
}

interface Position {
  readonly chain: Chain;
  /** The index of the chain's next rule. */
  readonly next: number;
}

/**
 * After a jump, the end of the chain or a return goes on behind the jump. A goto leaves no place to return to: the end
 * of its chain goes on behind the last jump. Without an earlier jump there is no verdict.
 */
function walk(
  table: Table,
  first: Chain,
  machine: Machine,
  hits: Hit[],
  end?: string,
): 'accept' | 'drop' | undefined {
  const jumps: Position[] = [];
  let position: Position | undefined = { chain: first, next: 0 };
  while (position !== undefined) {
    const { chain, next }: Position = position;
    if (chain.name === end) return 'accept';
    const hit = firstVerdict(chain, next, machine, hits);
    switch (hit?.verdict?.kind) {
      case 'accept':
      case 'drop':
        return hit.verdict.kind;
      case 'jump':
        jumps.push({ chain, next: hit.rule + 1 });
        position = startOf(table, hit.verdict.chain);
        break;
      case 'goto':
        position = startOf(table, hit.verdict.chain);
        break;
      default: // return, or the end of the chain
        position = jumps.pop();
    }
  }
  return undefined;
}

function startOf(table: Table, name: string): Position {
  const chain = table.chains.get(name);
  if (chain === undefined) throw new RangeError(`chain ${name} does not exist`);
  return { chain, next: 0 };
}

/** The first rule from `next` on that gives a verdict. Rules that match without a verdict are recorded too. */
function firstVerdict(chain: Chain, next: number, machine: Machine, hits: Hit[]): Hit | undefined {
  for (let index = next; index < chain.rules.length; index++) {
    const hit = execute(chain.name, index, chain.rules[index]!, machine);
    if (hit === undefined) continue;
    hits.push(hit);
    if (hit.verdict !== undefined) return hit;
  }
  return undefined;
}

/** Undefined if an expression ends the rule without a match. */
function execute(
  chain: string,
  rule: number,
  { exprs, comment }: NftRule,
  machine: Machine,
): Hit | undefined {
  const place = { chain, rule, ...(comment !== undefined && { comment }) };
  for (const expr of exprs) {
    const result = machine.evaluate(expr);
    if (result === 'break') return undefined;
    if (result !== 'continue') return { ...place, ...result };
  }
  return place;
}
