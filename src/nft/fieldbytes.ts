/** The size in bytes of the fields of a set's key. */
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
 * NFTA_SET_KEY_LEN. Each field is padded to registers of four bytes. The kernel accepts an unpadded concatenation, but
 * no look-up of a rule ever matches it.
 */
export function keyLength(key: readonly FieldType[]): number {
  return key.length === 1 ? FIELD_BYTES[key[0]!] : paddedLength(key);
}

/** The length with every field padded to whole registers. */
export function paddedLength(fields: readonly FieldType[]): number {
  return fields.reduce((length, type) => length + paddedBytes(type), 0);
}

export function paddedBytes(type: FieldType): number {
  return (FIELD_BYTES[type] + REGISTER_BYTES - 1) & -REGISTER_BYTES;
}
