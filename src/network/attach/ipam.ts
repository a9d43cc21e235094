/**
 * Chooses the addresses of pods. There is no list of used ones: an address is taken if the kernel has a route to it, if
 * an interface of the node has it, or if it is being given out now.
 */
import {
  type Address,
  addressBits,
  addressFromInt,
  addressToInt,
  type Cidr,
  cidrContains,
  cidrText,
  type Family,
} from '../../model/address.ts';

export type Allocation =
  | { readonly addresses: readonly Address[] }
  /** The networks that have no address left. */
  | { readonly exhausted: readonly Cidr[] };

/**
 * One address of each family, the first free one after the last that was given out: a freed address is reused as late
 * as possible, because others may still take it for the old pod's.
 */
export function allocate(
  cidrs: readonly Cidr[],
  taken: ReadonlySet<Address>,
  last: ReadonlyMap<Family, Address>,
): Allocation {
  const found = familiesOf(cidrs).map(family => {
    const ofFamily = cidrs.filter(cidr => cidr.family === family);
    return { ofFamily, address: firstFree(ofFamily, taken, last.get(family)) };
  });
  const exhausted = found.filter(({ address }) => address === undefined).flatMap(({ ofFamily }) => ofFamily);
  if (exhausted.length > 0) return { exhausted };
  return { addresses: found.map(({ address }) => address!) };
}

/** The number of addresses of a network that can be given out, up to the greatest exact integer. */
export function capacity(cidr: Cidr): number {
  const { first, last } = usable(cidr);
  return last < first ? 0 : Number(minimum(last - first + 1n, BigInt(Number.MAX_SAFE_INTEGER)));
}

/** The families without a free address. */
export function exhaustedFamilies(cidrs: readonly Cidr[], taken: ReadonlySet<Address>): Family[] {
  return familiesOf(cidrs).filter(
    family =>
      firstFree(
        cidrs.filter(cidr => cidr.family === family),
        taken,
        undefined,
      ) === undefined,
  );
}

export function exhaustedText(cidrs: readonly Cidr[]): string {
  const total = cidrs.reduce((sum, cidr) => sum + capacity(cidr), 0);
  return `all ${total} addresses of ${cidrs.map(cidrText).join(' and ')} are in use`;
}

function familiesOf(cidrs: readonly Cidr[]): Family[] {
  return (['ip', 'ip6'] as const).filter(family => cidrs.some(cidr => cidr.family === family));
}

function firstFree(
  cidrs: readonly Cidr[],
  taken: ReadonlySet<Address>,
  last: Address | undefined,
): Address | undefined {
  const at = last === undefined ? -1 : cidrs.findIndex(cidr => cidrContains(cidr, last));
  if (at === -1) return firstOf(cidrs, taken);
  const { first, last: end } = usable(cidrs[at]!);
  const next = addressToInt(last!) + 1n;
  return (
    free(cidrs[at]!, next, end, taken) ??
    firstOf([...cidrs.slice(at + 1), ...cidrs.slice(0, at)], taken) ??
    free(cidrs[at]!, first, next - 1n, taken)
  );
}

function firstOf(cidrs: readonly Cidr[], taken: ReadonlySet<Address>): Address | undefined {
  for (const cidr of cidrs) {
    const { first, last } = usable(cidr);
    const address = free(cidr, first, last, taken);
    if (address !== undefined) return address;
  }
  return undefined;
}

// There are never more steps than addresses taken.
function free(
  { family }: Cidr,
  first: bigint,
  last: bigint,
  taken: ReadonlySet<Address>,
): Address | undefined {
  for (let at = first; at <= last; at++) {
    const address = addressFromInt(family, at);
    if (!taken.has(address)) return address;
  }
  return undefined;
}

/**
 * The range without the network's own address and the IPv4 broadcast address, which programs distrust. The second
 * address is left out, too, if there are others: on most nodes a gateway has it, and packets of tunnels from pods do
 * not reach it (N72).
 */
function usable({ family, base, prefix }: Cidr): { first: bigint; last: bigint } {
  const start = addressToInt(base);
  const size = 1n << BigInt(addressBits(family) - prefix);
  if (size <= 2n) return { first: start, last: start + size - 1n };
  return { first: start + (size > 4n ? 2n : 1n), last: start + size - (family === 'ip' ? 2n : 1n) };
}

function minimum(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
