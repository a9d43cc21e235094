/** How many bytes the fields of a set's key take. */
import type { FieldType } from './ruleset.ts';

export const FIELD_BYTES: Readonly<Record<FieldType, number>> = {
  ipv4_addr: 4,
  ipv6_addr: 16,
  ether_addr: 6,
  inet_proto: 1,
  inet_service: 2,
  iface_index: 4,
};

const REGISTER_BYTES = 4;

/**
 * NFTA_SET_KEY_LEN. An unpadded concatenation is accepted by the kernel and never matches: the fields of a rule's
 * look-up are in registers of four bytes.
 */
export function keyLength(key: readonly FieldType[]): number {
  return key.length === 1 ? FIELD_BYTES[key[0]!] : paddedLength(key);
}

/** Every field on registers of its own. */
export function paddedLength(fields: readonly FieldType[]): number {
  return fields.reduce((length, type) => length + paddedBytes(type), 0);
}

export function paddedBytes(type: FieldType): number {
  return (FIELD_BYTES[type] + REGISTER_BYTES - 1) & -REGISTER_BYTES;
}
