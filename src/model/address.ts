/**
 * IP addresses and networks as canonical text: equal addresses are equal strings, so an address can be the key of a
 * Map. Bytes and integers are made where they are needed.
 */
import ipaddr from 'ipaddr.js';

/** The nf_tables names of the two families. */
export type Family = 'ip' | 'ip6';

export const FAMILIES: readonly Family[] = ['ip', 'ip6'];

/** The names of the families in text for people and in the API. */
export const FAMILY_NAME = { ip: 'IPv4', ip6: 'IPv6' } as const;

/** A canonical address: `10.0.0.1`, or RFC 5952 text such as `fd00::1`. Made only by `parseAddress`. */
export type Address = string & { readonly __address: true };

/** A network with its host bits cleared. */
export interface Cidr {
  readonly family: Family;
  readonly base: Address;
  /** The prefix length: 0 to 32, or 0 to 128. */
  readonly prefix: number;
}

/** A closed interval of addresses of one family, as unsigned integers. */
export interface AddressRange {
  readonly family: Family;
  readonly first: bigint;
  readonly last: bigint;
}

// N23: octets and prefixes with leading zeros were accepted once and exist in old objects. They are decimal.
const DOTTED_QUAD = /^(\d{1,4})\.(\d{1,4})\.(\d{1,4})\.(\d{1,4})$/;
const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const CANONICAL_QUAD = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`);
const MAPPED_PREFIX = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** The address of a text; undefined if it is not an address. A zone (`fe80::1%eth0`) is not accepted. */
export function parseAddress(text: string): Address | undefined {
  const isV6 = text.includes(':');
  const v4 = parseDottedQuad((isV6 ? MAPPED_PREFIX.exec(text)?.[1] : undefined) ?? text);
  if (v4 !== undefined) return v4;
  if (!isV6) return undefined;
  if (isPlainIpv6(text)) return text as Address;
  if (text.includes('%') || !ipaddr.IPv6.isValid(text)) return undefined;
  const v6 = ipaddr.IPv6.parse(text);
  // ::ffff:a00:1 is 10.0.0.1 as the API server's parser reads it.
  return (v6.isIPv4MappedAddress() ? v6.toIPv4Address().toString() : v6.toRFC5952String()) as Address;
}

function parseDottedQuad(text: string): Address | undefined {
  if (CANONICAL_QUAD.test(text)) return text as Address;
  const octets = DOTTED_QUAD.exec(text);
  if (octets === null) return undefined;
  const [a, b, c, d] = [Number(octets[1]), Number(octets[2]), Number(octets[3]), Number(octets[4])];
  return a > 255 || b > 255 || c > 255 || d > 255 ? undefined : (`${a}.${b}.${c}.${d}` as Address);
}

/**
 * Whether a text is canonical already. Nearly all addresses that a server writes are, and parsing one takes ten times
 * as long. If no group is zero, only the gap can be shortened; a gap of one group is not canonical.
 */
function isPlainIpv6(text: string): boolean {
  if (!PLAIN_IPV6.test(text)) return false;
  const groups = text.match(/[^:]+/g)?.length ?? 0;
  return text.includes('::') ? groups <= 6 && !text.startsWith('::ffff:') : groups === 8;
}

const GROUPS = '[1-9a-f][\\da-f]{0,3}(?::[1-9a-f][\\da-f]{0,3})*';
const PLAIN_IPV6 = new RegExp(`^(?:${GROUPS}|(?:${GROUPS})?::(?:${GROUPS})?)$`);

export function familyOf(address: Address): Family {
  return address.includes(':') ? 'ip6' : 'ip';
}

/**
 * Whether it is a loopback address (127.0.0.0/8, ::1), which no packet carries from one network namespace to another.
 */
export function isLoopback(address: Address): boolean {
  return address === '::1' || address.startsWith('127.');
}

export function addressBits(family: Family): 32 | 128 {
  return family === 'ip' ? 32 : 128;
}

/** The address as 4 or 16 bytes in network byte order. */
export function addressBytes(address: Address): Uint8Array {
  return familyOf(address) === 'ip' ? quadBytes(address) : groupBytes(address);
}

function quadBytes(address: string): Uint8Array {
  const bytes = new Uint8Array(4);
  let octet = 0;
  let at = 0;
  for (let i = 0; i < address.length; i++) {
    const code = address.charCodeAt(i);
    if (code === 46) {
      bytes[at++] = octet;
      octet = 0;
    } else octet = octet * 10 + code - 48;
  }
  bytes[at] = octet;
  return bytes;
}

/** The 16 bytes of a canonical IPv6 address, which has only digits and colons. A general parser takes three times as long. */
function groupBytes(address: string): Uint8Array {
  const bytes = new Uint8Array(16);
  let at = 0;
  let gap = 16;
  for (let i = 0, first = 0, group = 0; i <= address.length; i++) {
    const code = i < address.length ? address.charCodeAt(i) : COLON;
    if (code !== COLON) {
      group = group * 16 + (code < 58 ? code - 48 : code - 87);
      continue;
    }
    if (i === first) gap = at;
    else {
      bytes[at++] = group >> 8;
      bytes[at++] = group & 255;
    }
    first = i + 1;
    group = 0;
  }
  // What stands behind the gap belongs to the end.
  return gap >= at ? bytes : bytes.copyWithin(16 - (at - gap), gap, at).fill(0, gap, 16 - (at - gap));
}

const COLON = 58;

export function addressFromBytes(bytes: Uint8Array): Address {
  // Joined at once: a string that is built by appending keeps its parts in memory.
  if (bytes.length === 4) return [bytes[0], bytes[1], bytes[2], bytes[3]].join('.') as Address;
  return new ipaddr.IPv6(Array.from(bytes)).toRFC5952String() as Address;
}

export function addressToInt(address: Address): bigint {
  if (familyOf(address) === 'ip') return BigInt(quadToNumber(address));
  const view = new DataView(groupBytes(address).buffer);
  return (view.getBigUint64(0) << 64n) | view.getBigUint64(8);
}

/** The four octets of an IPv4 address as an unsigned integer. */
function quadToNumber(address: Address): number {
  const [a, b, c, d] = quadBytes(address) as unknown as [number, number, number, number];
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
}

function quadFromNumber(value: number): Address {
  return `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}` as Address;
}

export function addressFromInt(family: Family, value: bigint): Address {
  if (family === 'ip') return quadFromNumber(Number(value & 0xffffffffn));
  const bytes = new Uint8Array(addressBits(family) / 8);
  for (let i = bytes.length - 1, rest = value; i >= 0; i--, rest >>= 8n) bytes[i] = Number(rest & 0xffn);
  return addressFromBytes(bytes);
}

/** The network of a text with its host bits cleared (N23, C36); undefined if it is not a network. */
export function parseCidr(text: string): Cidr | undefined {
  const [host = '', length = '', ...rest] = text.split('/');
  const address = parseAddress(host);
  if (address === undefined || rest.length > 0 || !/^\d{1,4}$/.test(length)) return undefined;
  const mapped = familyOf(address) === 'ip' && host.includes(':');
  const prefix = Number(length) - (mapped ? 96 : 0);
  if (prefix < 0 || prefix > addressBits(familyOf(address))) return undefined;
  return networkOf(address, prefix);
}

/** The network of `prefix` bits that contains `address`. */
export function networkOf(address: Address, prefix: number): Cidr {
  const family = familyOf(address);
  if (family === 'ip')
    return { family, base: quadFromNumber(quadToNumber(address) & quadMask(prefix)), prefix };
  const hostBits = BigInt(addressBits(family) - prefix);
  return { family, base: addressFromInt(family, (addressToInt(address) >> hostBits) << hostBits), prefix };
}

// In JavaScript a shift by 32 does nothing.
function quadMask(prefix: number): number {
  return prefix === 0 ? 0 : -1 << (32 - prefix);
}

export function cidrText({ base, prefix }: Cidr): string {
  return `${base}/${prefix}`;
}

export function cidrRange({ family, base, prefix }: Cidr): AddressRange {
  const first = addressToInt(base);
  return { family, first, last: first + (1n << BigInt(addressBits(family) - prefix)) - 1n };
}

export function cidrContains(cidr: Cidr, address: Address): boolean {
  if (familyOf(address) !== cidr.family) return false; // N22: 0.0.0.0/0 never holds an IPv6 address.
  if (cidr.family === 'ip')
    return ((quadToNumber(address) ^ quadToNumber(cidr.base)) & quadMask(cidr.prefix)) === 0;
  const hostBits = BigInt(addressBits(cidr.family) - cidr.prefix);
  return addressToInt(address) >> hostBits === addressToInt(cidr.base) >> hostBits;
}

export function cidrsOverlap(a: Cidr, b: Cidr): boolean {
  return cidrContains(a, b.base) || cidrContains(b, a.base);
}
