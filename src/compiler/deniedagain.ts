/**
 * What an agent that took itself for the last one of its node left open (unknownpods.ts), closed again: its mark is there
 * and an agent starts, so that it was not. Made from the rules alone, for the cluster may take long to be read.
 */
import { FAMILIES, type Family } from '../model/address.ts';
import type { AddressField } from '../nft/match.ts';
import type { Chain, NftRule, Ruleset } from '../nft/ruleset.ts';
import { podMap } from './base.ts';
import { FROM_PODS } from './linkmatches.ts';
import { podNetworksIn } from './podnetworksin.ts';
import { INGRESS_CHAIN } from './program.ts';
import { withoutMark } from './removedmark.ts';
import { type AskedIn, allowingUnknownPods, unknownRules } from './unknownpods.ts';

/** Without the mark, for somebody changes these tables again. */
export function denyingUnknownPods(ruleset: Ruleset): Ruleset {
  const networks = podNetworksIn(ruleset);
  const unknown = (family: Family, place: AskedIn, field: AddressField) =>
    unknownRules(family, networks, place, field);
  const { tables } = withoutMark(allowingUnknownPods(ruleset));
  const denying = (family: Family, { name, rules, ...chain }: Chain): Chain => {
    const place = placeOf(name);
    const after = (rule: NftRule): NftRule[] => {
      const field = place && askedBy(rule, family);
      return field === undefined ? [] : unknown(family, place!, field);
    };
    return { name, ...chain, rules: rules.flatMap(rule => [rule, ...after(rule)]) };
  };
  const closed = FAMILIES.flatMap(family => {
    const table = tables.get(family);
    if (table === undefined) return [];
    const chains = new Map([...table.chains].map(([name, chain]) => [name, denying(family, chain)]));
    return [[family, { ...table, chains }] as const];
  });
  return { tables: new Map([...tables, ...closed]) };
}

/** Chains that look addresses up in the pod maps. */
function placeOf(chain: string): AskedIn | undefined {
  if (chain === INGRESS_CHAIN) return INGRESS_CHAIN;
  if (chain === 'input' || chain === FROM_PODS.input) return 'input';
  return chain === 'forward' || chain === FROM_PODS.forward ? 'forward' : undefined;
}

/** Which of a packet's addresses a rule looks up in a pod map. */
function askedBy({ exprs }: NftRule, family: Family): AddressField | undefined {
  const [, lookup, ...others] = exprs;
  if (lookup?.kind !== 'lookup' || !lookup.vmap || others.length > 0) return undefined;
  if (lookup.set === podMap('egress', family).name) return 'saddr';
  return lookup.set === podMap('ingress', family).name ? 'daddr' : undefined;
}
