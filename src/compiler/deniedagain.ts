/**
 * What an agent that took itself for the last one of its node left open (unknownpods.ts), closed again: its mark is there
 * and an agent starts, so that it was not. Made from the rules alone, for the cluster may take long to be read.
 */

import { byName } from '../lib/text/byname.ts';
import type { Cidr, Family } from '../model/address.ts';
import type { AddressField } from '../nft/match.ts';
import { type Chain, mapTables, type NftRule, type Ruleset } from '../nft/ruleset.ts';
import { podMap } from './base.ts';
import { FROM_PODS } from './linkmatches.ts';
import { podNetworksIn } from './podnetworksin.ts';
import { INGRESS_CHAIN } from './program.ts';
import { withoutMark } from './removedmark.ts';
import { type AskedIn, allowingUnknownPods, unknownRules } from './unknownpods.ts';

/** Without the mark, for somebody changes these tables again. */
export function denyingUnknownPods(ruleset: Ruleset): Ruleset {
  const networks = podNetworksIn(ruleset);
  return mapTables(withoutMark(allowingUnknownPods(ruleset)), (table, family) => {
    if (family === 'bridge') return table;
    const chains = Array.from(table.chains.values(), chain => denying(chain, family, networks));
    return { ...table, chains: byName(chains) };
  });
}

function denying(chain: Chain, family: Family, networks: readonly Cidr[]): Chain {
  const place = placeOf(chain.name);
  if (place === undefined) return chain;
  const denials = (rule: NftRule): NftRule[] => {
    const field = askedBy(rule, family);
    return field === undefined ? [] : unknownRules(family, networks, place, field);
  };
  return { ...chain, rules: chain.rules.flatMap(rule => [rule, ...denials(rule)]) };
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
