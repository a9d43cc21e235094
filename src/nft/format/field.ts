/** The names that nft has for fields of a packet, and the text of their values. */
import { addressFromBytes } from '../../model/address.ts';
import { PROTOCOL_NUMBER } from '../../model/ipprotocol.ts';
import { macText } from '../../model/mac.ts';
import { ADDRESS_TYPE, CT_STATE, CT_STATUS, TCP_FLAGS, toHex } from '../match.ts';
import { ETHER_TYPE } from '../matchframe.ts';
import { PACKET_TYPE } from '../matchinterface.ts';
import type { CtKey, Expr, Hex, MetaKey, TableFamily } from '../ruleset.ts';

export interface FormattedField {
  /** `ip saddr`, `th dport`. */
  readonly text: string;
  /** Its length in the register. */
  readonly bytes: number;
  readonly value: (data: Hex) => string;
}

export function metaField(key: MetaKey): FormattedField {
  switch (key) {
    case 'mark':
      return {
        text: 'meta mark',
        bytes: 4,
        value: data => `0x${hostNumber(data).toString(16).padStart(8, '0')}`,
      };
    case 'iif':
    case 'oif':
      return { text: key, bytes: 4, value: interfaceText };
    case 'iifgroup':
    case 'oifgroup':
      return { text: key, bytes: 4, value: data => String(hostNumber(data)) };
    case 'iifkind':
      return { text: 'meta iifkind', bytes: 16, value: kindText };
    case 'pkttype':
      return {
        text: 'meta pkttype',
        bytes: 1,
        value: data => PACKET_TYPE_NAME.get(hostNumber(data)) ?? `0x${data}`,
      };
    case 'l4proto':
      return { text: 'meta l4proto', bytes: 1, value: protocolText };
    case 'nfproto':
      return { text: 'meta nfproto', bytes: 1, value: nfprotoText };
  }
}

export function ctField(key: CtKey): FormattedField {
  switch (key) {
    case 'state':
      return { text: 'ct state', bytes: 4, value: bitsText(CT_STATE) };
    case 'status':
      return { text: 'ct status', bytes: 4, value: bitsText(CT_STATUS) };
    case 'direction':
      return { text: 'ct direction', bytes: 1, value: data => (data === '00' ? 'original' : 'reply') };
    case 'original ip saddr':
    case 'original ip daddr':
    case 'reply ip saddr':
      return { text: `ct ${key}`, bytes: 4, value: addressText };
    case 'original ip6 saddr':
    case 'original ip6 daddr':
    case 'reply ip6 saddr':
      return { text: `ct ${key}`, bytes: 16, value: addressText };
    case 'original proto-dst':
      return { text: `ct ${key}`, bytes: 2, value: numberText };
  }
}

function bitsText(bitsOf: Readonly<Record<string, number>>): (bits: Hex) => string {
  return bits => {
    const mask = Number.parseInt(bits.slice(0, 2), 16); // host-endian: the lowest byte first
    const names = Object.entries(bitsOf).filter(([, bit]) => (mask & bit) !== 0);
    return names.map(([name]) => name).join(',');
  };
}

/** `"veth"`, from a text that is filled up with zeros. */
function kindText(data: Hex): string {
  return `"${Buffer.from(data, 'hex').toString('latin1').replaceAll('\0', '')}"`;
}

/** `fib saddr . iif oif`. */
export function fibField({ result, flags }: Expr & { kind: 'fib' }): FormattedField {
  const text = `fib ${flags.join(' . ')} ${result === 'type' ? 'type' : 'oif'}`;
  switch (result) {
    case 'exists':
      return { text, bytes: 4, value: data => (hostNumber(data) === 0 ? 'missing' : 'exists') };
    case 'oif':
      return { text, bytes: 4, value: interfaceText };
    case 'type':
      return {
        text,
        bytes: 4,
        value: data => ADDRESS_TYPE_NAME.get(hostNumber(data)) ?? String(hostNumber(data)),
      };
  }
}

/** `exthdr frag`. */
export function exthdrField(type: number): FormattedField {
  return {
    text: `exthdr ${EXTENSION_NAME[type] ?? type}`,
    bytes: 1,
    value: data => (data === '00' ? 'missing' : 'exists'),
  };
}

const EXTENSION_NAME: Readonly<Record<number, string>> = { 0: 'hbh', 43: 'rt', 44: 'frag', 60: 'dst' };

/**
 * If the rule has matched the protocol, the first byte of an ICMP header and the flags of a TCP header have names of
 * their own.
 */
export function payloadField(
  family: TableFamily,
  { base, offset, length }: Expr & { kind: 'payload' },
  protocol: string | undefined,
): FormattedField {
  const place = `${base}+${offset}:${length}`;
  const ofFrame = family === 'bridge' ? FRAME[place] : undefined;
  if (ofFrame !== undefined) return { bytes: length, ...ofFrame };
  const address = ADDRESSES[`${family} ${place}`];
  if (address !== undefined) return { text: `${family} ${address}`, bytes: length, value: addressText };
  if (place === 'network+9:1' && family === 'ip')
    return { text: 'ip protocol', bytes: length, value: protocolText };
  const hops = HOPS[`${family} ${place}`];
  if (hops !== undefined) return { text: hops, bytes: length, value: numberText };
  const port = PORTS[place];
  if (port !== undefined) return { text: `th ${port}`, bytes: length, value: numberText };
  if (place === 'transport+0:1' && (protocol === 'icmp' || protocol === 'icmpv6'))
    return { text: `${protocol} type`, bytes: length, value: numberText };
  if (place === 'transport+1:1' && (protocol === 'icmp' || protocol === 'icmpv6'))
    return { text: `${protocol} code`, bytes: length, value: numberText };
  if (place === 'transport+13:1' && protocol === 'tcp')
    return { text: 'tcp flags', bytes: length, value: flagsText };
  const header = HEADER[base];
  return { text: `@${header},${offset * 8},${length * 8}`, bytes: length, value: data => `0x${data}` };
}

const HEADER = { link: 'll', network: 'nh', transport: 'th' } as const;

/** Fields in a table of bridges, for the types that our rules match there. */
const FRAME: Readonly<Record<string, Omit<FormattedField, 'bytes'>>> = {
  'link+0:6': { text: 'ether daddr', value: hardwareText },
  'link+6:6': { text: 'ether saddr', value: hardwareText },
  'link+12:2': { text: 'ether type', value: data => ETHER_TYPE_NAME.get(data) ?? `0x${data}` },
  'network+6:1': { text: 'ip6 nexthdr', value: protocolText },
  'network+6:2': { text: 'arp operation', value: numberText },
  'network+8:6': { text: 'arp saddr ether', value: hardwareText },
  'network+9:1': { text: 'ip protocol', value: protocolText },
  'network+12:4': { text: 'ip saddr', value: addressText },
  'network+14:4': { text: 'arp saddr ip', value: addressText },
  'network+16:4': { text: 'ip daddr', value: addressText },
  'network+24:4': { text: 'arp daddr ip', value: addressText },
  'network+8:16': { text: 'ip6 saddr', value: addressText },
  'transport+8:16': { text: 'icmpv6 taddr', value: addressText },
};

const ETHER_TYPE_NAME = new Map(Object.entries(ETHER_TYPE).map(([name, bytes]) => [toHex(bytes), name]));

function hardwareText(data: Hex): string {
  return macText(Uint8Array.from(bytesOf(data)));
}

const ADDRESSES: Readonly<Record<string, string>> = {
  'ip network+12:4': 'saddr',
  'ip network+16:4': 'daddr',
  'ip6 network+8:16': 'saddr',
  'ip6 network+24:16': 'daddr',
};

const HOPS: Readonly<Record<string, string>> = {
  'ip network+8:1': 'ip ttl',
  'ip6 network+7:1': 'ip6 hoplimit',
};

const PORTS: Readonly<Record<string, string>> = { 'transport+0:2': 'sport', 'transport+2:2': 'dport' };

/** The prefix length of an address mask; undefined if the mask is not a prefix. */
export function addressPrefix(field: FormattedField, mask: Hex): number | undefined {
  if (field.value !== addressText) return undefined;
  const bits = bytesOf(mask).reduce((text, byte) => text + byte.toString(2).padStart(8, '0'), '');
  return /^1*0*$/.test(bits) ? bits.lastIndexOf('1') + 1 : undefined;
}

function addressText(data: Hex): string {
  return addressFromBytes(Uint8Array.from(bytesOf(data)));
}

function numberText(data: Hex): string {
  return String(Number.parseInt(data, 16));
}

function flagsText(data: Hex): string {
  const bits = Number.parseInt(data, 16);
  const names = Object.entries(TCP_FLAGS).filter(([, bit]) => (bits & bit) !== 0);
  const named = names.reduce((sum, [, bit]) => sum | bit, 0);
  return named === bits && bits !== 0 ? names.map(([name]) => name).join(' | ') : `0x${data}`;
}

function protocolText(data: Hex): string {
  return PROTOCOL_NAME.get(Number.parseInt(data, 16)) ?? numberText(data);
}

const PROTOCOL_NAME = namesByNumber(PROTOCOL_NUMBER);
const PACKET_TYPE_NAME = namesByNumber(PACKET_TYPE);
const ADDRESS_TYPE_NAME = namesByNumber(ADDRESS_TYPE);

function namesByNumber(numbers: Readonly<Record<string, number>>): ReadonlyMap<number, string> {
  return new Map(Object.entries(numbers).map(([name, number]) => [number, name]));
}

function nfprotoText(data: Hex): string {
  return { '02': 'ipv4', '0a': 'ipv6' }[data] ?? numberText(data);
}

/** Loopback is the first interface of every network namespace. The names of other indices are not known here. */
function interfaceText(data: Hex): string {
  const index = hostNumber(data);
  return index === 1 ? '"lo"' : String(index);
}

/** In host byte order: the lowest byte first. */
function hostNumber(data: Hex): number {
  return bytesOf(data).reduceRight((value, byte) => value * 256 + byte, 0);
}

function bytesOf(hex: Hex): number[] {
  return Array.from({ length: hex.length / 2 }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16));
}
