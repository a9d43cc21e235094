/**
 * An agent that ends because Sluice is being removed allows unknown pods (unknownpods.ts) and leaves a mark
 * (removedmark.ts). If an agent starts and finds the mark, Sluice was not removed: unknown pods are denied again. This
 * uses the rules alone, because reading the cluster may take long.
 */

import { byName } from '../lib/text/byname.ts';
import type { Cidr, Family } from '../model/address.ts';
import type { AddressField } from '../nft/match.ts';
import { type Chain, mapTables, type NftRule, type Ruleset } from '../nft/ruleset.ts';
import { podMap } from './base.ts';
import { FROM_PODS } from './linkmatches.ts';
import { podNetworksIn } from './podnetworksin.ts';
import { fromUnknownPort } from './podports.ts';
import { INGRESS_CHAIN } from './program.ts';
import { withoutMark } from './removedmark.ts';
import { allowingUnknownPods, type LookupPlace, unknownRules } from './unknownpods.ts';

/** Denies unknown pods again and takes the mark away, because an agent runs again. */
export function denyingUnknownPods(ruleset: Ruleset): Ruleset {
  const networks = podNetworksIn(ruleset);
  return mapTables(withoutMark(allowingUnknownPods(ruleset)), (table, family) => {
    const chains = Array.from(table.chains.values(), chain =>
      family === 'bridge' ? denyingPorts(chain) : denying(chain, family, networks),
    );
    return { ...table, chains: byName(chains) };
  });
}

/** The bridge table exists only where the ports of pods are known. */
function denyingPorts(chain: Chain): Chain {
  return chain.name === 'prerouting' ? { ...chain, rules: [...chain.rules, fromUnknownPort()] } : chain;
}

function denying(chain: Chain, family: Family, networks: readonly Cidr[]): Chain {
  const place = placeOf(chain.name);
  if (place === undefined) return chain;
  const denials = (rule: NftRule): NftRule[] => {
    const field = lookedUpBy(rule, family);
    return field === undefined ? [] : unknownRules(family, networks, place, field);
  };
  return { ...chain, rules: chain.rules.flatMap(rule => [rule, ...denials(rule)]) };
}

/** The chains that look addresses up in the pod maps. */
function placeOf(chain: string): LookupPlace | undefined {
  if (chain === INGRESS_CHAIN) return INGRESS_CHAIN;
  if (chain === 'input' || chain === FROM_PODS.input) return 'input';
  return chain === 'forward' || chain === FROM_PODS.forward ? 'forward' : undefined;
}

/** Which address of a packet a rule looks up in a pod map. */
function lookedUpBy({ exprs }: NftRule, family: Family): AddressField | undefined {
  const [, lookup, ...others] = exprs;
  if (lookup?.kind !== 'lookup' || !lookup.vmap || others.length > 0) return undefined;
  if (lookup.set === podMap('egress', family).name) return 'saddr';
  return lookup.set === podMap('ingress', family).name ? 'daddr' : undefined;
}
