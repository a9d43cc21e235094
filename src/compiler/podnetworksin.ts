/**
 * The node's pod networks in programmed rules: what a predecessor knew, for use while the Node object cannot be read.
 */
import { addressBits, addressFromBytes, type Cidr, FAMILIES, type Family } from '../model/address.ts';
import type { NftRule, Ruleset } from '../nft/ruleset.ts';
import { FROM_ELSEWHERE } from './podlinks.ts';

export function podNetworksIn({ tables }: Ruleset): Cidr[] {
  return FAMILIES.flatMap(family => {
    const rules = tables.get(family)?.chains.get('forward')?.rules ?? [];
    return rules.flatMap(rule => (rule.comment === FROM_ELSEWHERE ? (networkOf(rule, family) ?? []) : []));
  });
}

/** Reads the expressions of `addressInNetwork` at the beginning of the rule. */
function networkOf({ exprs: [loaded, next, last] }: NftRule, family: Family): Cidr | undefined {
  const masked = next?.kind === 'bitwise' ? next : undefined;
  const compared = masked === undefined ? next : last;
  if (loaded?.kind !== 'payload' || compared?.kind !== 'cmp') return undefined;
  const base = addressFromBytes(Buffer.from(compared.data, 'hex'));
  return { family, base, prefix: masked === undefined ? addressBits(family) : countBits(masked.mask) };
}

function countBits(hex: string): number {
  return [...hex].reduce((sum, digit) => sum + BITS[Number.parseInt(digit, 16)]!, 0);
}

const BITS = [0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4];
