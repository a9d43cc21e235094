/**
 * Which address a pod gets. There is no book of them: what is taken is what the kernel has a route to, what an
 * interface of the node has, and what is being given out at this moment.
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
 * One address of each family, the first free one behind the last that was given out: a freed address rests as long as
 * possible, because others may still believe that it is the old pod's.
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

/** How many addresses of a network can be given out, up to what a number holds exactly. */
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
 * Without the network's own address and, of IPv4, the one that means all: programs distrust both. Nor is the second one
 * given out where there are others: on most nodes a gateway has it, and what pods wrap in tunnels does not reach it (N72).
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
