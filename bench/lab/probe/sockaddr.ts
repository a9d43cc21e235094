import { type Address, addressBytes, familyOf } from '../../../src/model/address.ts';
import { AF_INET, AF_INET6 } from '../libc.ts';

/** `struct sockaddr_in` or `sockaddr_in6`: the family is host-endian, the port big-endian. */
export function socketAddress(address: Address, port = 0): Uint8Array {
  const v4 = familyOf(address) === 'ip';
  const bytes = new Uint8Array(v4 ? 16 : 28);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, v4 ? AF_INET : AF_INET6, true);
  view.setUint16(2, port);
  bytes.set(addressBytes(address), v4 ? 4 : 8);
  return bytes;
}
