/** Whether a key is the one text of what it means, so that it is read back from the kernel as it was written. */

import { cidrText, familyOf, parseAddress, parseCidr } from '../../../src/model/address.ts';
import { isMac } from '../../../src/model/mac.ts';
import { parseInterval } from '../../../src/nft/interval.ts';
import { KEY_PROTOCOL_OF_NUMBER, NUMBER_OF_KEY_PROTOCOL } from '../../../src/nft/keyprotocols.ts';
import type { ElementKey, Family, FieldType, SetSpec } from '../../../src/nft/ruleset.ts';

export function isCanonicalKey({ key: fields, interval }: SetSpec, key: ElementKey): boolean {
  return interval ? isCanonicalInterval(fields[0]!, key) : areCanonicalFields(fields, key);
}

/** A key of a hash, or the data of an element. */
export function areCanonicalFields(fields: readonly FieldType[], key: ElementKey): boolean {
  if (fields.length === 1) return isCanonicalField(fields[0]!, key);
  const texts = key.split(' . ');
  return texts.length === fields.length && texts.every((text, i) => isCanonicalField(fields[i]!, text));
}

function isCanonicalField(type: FieldType, text: string): boolean {
  switch (type) {
    case 'ipv4_addr':
      return isAddress('ip', text);
    case 'ipv6_addr':
      return isAddress('ip6', text);
    case 'ether_addr':
      return isMac(text);
    case 'inet_proto':
      return (
        NUMBER_OF_KEY_PROTOCOL.has(text) || (isNumber(text, 255) && !KEY_PROTOCOL_OF_NUMBER.has(Number(text)))
      );
    case 'inet_service':
      return isNumber(text, 0xffff);
    case 'iface_index':
      return isNumber(text, 0x7fffffff);
  }
}

function isAddress(family: Family, text: string): boolean {
  const address = parseAddress(text);
  return address === text && familyOf(address) === family;
}

function isNumber(text: string, max: number): boolean {
  return /^(0|[1-9]\d{0,9})$/.test(text) && Number(text) <= max;
}

function isCanonicalInterval(type: FieldType, key: ElementKey): boolean {
  return type === 'ipv4_addr' || type === 'ipv6_addr'
    ? isCanonicalRange(type, key)
    : isNumberRange(type, key);
}

/** A network wherever the range is one, also of a single address. */
function isCanonicalRange(type: FieldType, key: ElementKey): boolean {
  const cidr = parseCidr(key);
  if (cidr !== undefined) return cidrText(cidr) === key && (cidr.family === 'ip') === (type === 'ipv4_addr');
  const ends = key.split('-');
  if (ends.length !== 2 || !ends.every(end => isCanonicalField(type, end))) return false;
  const { first, last } = parseInterval(type, key);
  return first < last && !isNetwork(first, last);
}

function isNetwork(first: bigint, last: bigint): boolean {
  const size = last - first + 1n;
  return (size & (size - 1n)) === 0n && first % size === 0n;
}

function isNumberRange(type: FieldType, key: ElementKey): boolean {
  if (type === 'iface_index') return false; // its bytes are in host order, so it cannot be a range
  const ends = key.split('-');
  if (ends.length > 2 || !ends.every(end => isCanonicalField(type, end))) return false;
  const { first, last } = parseInterval(type, key);
  return ends.length === 1 || first < last;
}
