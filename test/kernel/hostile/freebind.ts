/** Sends a datagram from an address that is not the sender's, as a user without any capability. */
import koffi from 'koffi';
import { AF_INET6, bind, close, SOCK_DGRAM, send, socket } from '../../../bench/lab/libc.ts';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { socketAddress } from '../../../bench/lab/probe/sockaddr.ts';
import type { Address } from '../../../src/model/address.ts';

const setsockopt = koffi
  .load(null)
  .func('int setsockopt(int fd, int level, int name, const uint8_t *value, uint32_t length)');
const IPPROTO_IPV6 = 41;
const IPV6_FREEBIND = 78;
const NOBODY = 65534;

/** `namespace` is a path. What a pod of the strictest of the pod security standards may do. */
export function sendAsAnother(
  namespace: string,
  from: Address,
  to: Address,
  port: number,
  data = 'as another',
): void {
  inNamespace(namespace, () => {
    process.seteuid!(NOBODY);
    try {
      const fd = socket(AF_INET6, SOCK_DGRAM);
      if (setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, Uint8Array.of(1, 0, 0, 0), 4) !== 0)
        throw new Error(`setsockopt IPV6_FREEBIND: errno ${koffi.errno()}`);
      bind(fd, socketAddress(from, 7777));
      send(fd, Buffer.from(data), socketAddress(to, port));
      close(fd);
    } finally {
      process.seteuid!(0); // Leaving the namespace takes a capability again.
    }
  });
}
