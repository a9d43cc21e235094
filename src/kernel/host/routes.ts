/** The kernel's route tables as text: /proc/net/route and /proc/net/ipv6_route. */
import { addressFromBytes, type Cidr, networkOf } from '../../model/address.ts';

const RTF_UP = 0x1;
const RTF_REJECT = 0x200;

/** Iface Destination Gateway Flags RefCnt Use Metric Mask …: addresses as hexadecimal words in host byte order. */
export function parseRoutes4(text: string): Cidr[] {
  const lines = text
    .split('\n')
    .slice(1)
    .map(fields)
    .filter(words => words.length >= 8);
  return lines
    .filter(([, , , flags]) => isUsable(flags!))
    .map(words => networkOf(addressFromBytes(wordBytes(words[1]!)), prefixOf(words[7]!)))
    .filter(({ prefix }) => prefix > 0);
}

/** Destination PrefixLength Source PrefixLength NextHop Metric RefCnt Use Flags Iface. */
export function parseRoutes6(text: string): Cidr[] {
  const lines = text
    .split('\n')
    .map(fields)
    .filter(words => words.length >= 10);
  return lines
    .filter(words => isUsable(words[8]!))
    .map(words => networkOf(addressFromBytes(Buffer.from(words[0]!, 'hex')), Number.parseInt(words[1]!, 16)))
    .filter(({ prefix }) => prefix > 0);
}

function fields(line: string): string[] {
  return line.trim().split(/\s+/);
}

function isUsable(flags: string): boolean {
  const bits = Number.parseInt(flags, 16);
  return (bits & RTF_UP) !== 0 && (bits & RTF_REJECT) === 0;
}

/** Every machine that we run on is little-endian. */
function wordBytes(word: string): Uint8Array {
  return Uint8Array.from(Buffer.from(word, 'hex')).reverse();
}

function prefixOf(mask: string): number {
  return [...wordBytes(mask)].reduce((bits, byte) => bits + byte.toString(2).replaceAll('0', '').length, 0);
}
