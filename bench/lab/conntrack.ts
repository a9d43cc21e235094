import { AF_NETLINK, close, receive, SOCK_RAW, SystemError, send, socket } from './libc.ts';
import { inNamespace } from './netns.ts';

const NETLINK_NETFILTER = 12;
// linux/netfilter/nfnetlink.h: subsystem 1 is ctnetlink; nfnetlink_conntrack.h: IPCTNL_MSG_CT_DELETE.
const CT_DELETE = (1 << 8) | 2;
const NLM_F_REQUEST_ACK = 1 | 4;

/**
 * Empties the connection tracking table of a namespace: what comes next is new, and judged by today's rules. A
 * delete without a tuple deletes all.
 */
export function forgetConnections(namespace: string): void {
  const fd = inNamespace(namespace, () => socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER));
  try {
    send(fd, deleteAll());
    const error = receive(fd)?.data.readInt32LE(16) ?? 0; // The acknowledgement is there when send() returns.
    if (error !== 0) throw new SystemError(`flush conntrack of ${namespace}`, -error);
  } finally {
    close(fd);
  }
}

// struct nlmsghdr, then struct nfgenmsg (family: all).
function deleteAll(): Uint8Array {
  const message = Buffer.alloc(20);
  message.writeUInt32LE(message.length, 0);
  message.writeUInt16LE(CT_DELETE, 4);
  message.writeUInt16LE(NLM_F_REQUEST_ACK, 6);
  return message;
}
