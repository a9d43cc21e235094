/**
 * Addresses that are never learnt, whoever tells them (C56): no peer has them, or they are the node's own business, as
 * the clouds' metadata services are. Private ones are learnt: they are what a name inside may mean.
 */
import { addressFromBytes } from '../model/address.ts';
import { METADATA_SERVICES } from '../model/metadataservices.ts';

export function isLearnable(bytes: Uint8Array): boolean {
  return bytes.length === 4 ? isLearnableV4(bytes, 0) : isLearnableV6(bytes);
}

function isLearnableV4(bytes: Uint8Array, at: number): boolean {
  const [a, b] = [bytes[at]!, bytes[at + 1]!];
  const isUnspecified = a === 0;
  const isLoopback = a === 127;
  const isLinkLocal = a === 169 && b === 254;
  const isMulticastOrReserved = a >= 224;
  return !(isUnspecified || isLoopback || isLinkLocal || isMulticastOrReserved || isMetadataV4(bytes, at));
}

function isLearnableV6(bytes: Uint8Array): boolean {
  const [a, b] = [bytes[0]!, bytes[1]!];
  if (a === 0xff || (a === 0xfe && (b & 0xc0) === 0x80)) return false; // multicast, link-local
  if (bytes.subarray(0, 10).every(byte => byte === 0)) return false; // ::, ::1, and IPv4 in every old form
  if (a === 0xfd && METADATA_SERVICES.has(addressFromBytes(bytes))) return false;
  // 64:ff9b::/96 leads to an IPv4 address beyond a translator (RFC 6052).
  const isTranslated = NAT64.every((byte, i) => bytes[i] === byte);
  return !isTranslated || isLearnableV4(bytes, 12);
}

const NAT64 = [0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0];

/** By their first byte, since most addresses are no such thing. */
function isMetadataV4(bytes: Uint8Array, at: number): boolean {
  const a = bytes[at]!;
  return (
    (a === 100 || a === 168 || a === 192) &&
    METADATA_SERVICES.has(addressFromBytes(bytes.subarray(at, at + 4)))
  );
}
