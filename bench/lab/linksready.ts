/**
 * A link that is up does not carry packets yet: the kernel attaches its queue a moment later, in a worker that a busy
 * machine delays, and until then silently drops packets. So the state of each interface is queried, and then each pair
 * of interfaces has to answer an echo request, after which both have neighbour entries.
 */
import { PROTOCOL_NUMBER } from '../../src/model/ipprotocol.ts';
import {
  AF_INET6,
  bindToDevice,
  close,
  type Fd,
  isRunning,
  POLLIN,
  poll,
  receive,
  SOCK_DGRAM,
  SOCK_RAW,
  send,
  socket,
} from './libc.ts';
import { inNamespace } from './netns.ts';
import { ECHO_REPLY, echoRequest } from './probe/icmp.ts';
import { socketAddress } from './probe/sockaddr.ts';
import type { LinkEnd } from './wiring.ts';

const DEADLINE_MS = 20_000;

/** `namespace` of each end is a path. */
export async function linksReady(ends: readonly LinkEnd[]): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  for (const end of ends) await withSocket(end, SOCK_DGRAM, 0, fd => running(end, fd, deadline));
  await Promise.all(
    ends.map(end => withSocket(end, SOCK_RAW, PROTOCOL_NUMBER.icmpv6, fd => answering(end, fd, deadline))),
  );
}

async function withSocket(
  { namespace }: LinkEnd,
  type: number,
  protocol: number,
  work: (fd: Fd) => Promise<void>,
): Promise<void> {
  const fd = inNamespace(namespace, () => socket(AF_INET6, type, protocol));
  try {
    await work(fd);
  } finally {
    close(fd);
  }
}

async function running(end: LinkEnd, fd: Fd, deadline: number): Promise<void> {
  while (!isRunning(fd, end.port)) {
    if (Date.now() > deadline) throw notReady(end);
    await new Promise(resolve => setTimeout(resolve, 1));
  }
}

async function answering(end: LinkEnd, fd: Fd, deadline: number): Promise<void> {
  bindToDevice(fd, end.port);
  do {
    if (Date.now() > deadline) throw notReady(end);
    send(fd, echoRequest('ip6', 1), socketAddress(end.peer));
  } while (!(await hasAnswer(fd)));
}

// Until the other end's hardware address is known, a request waits in the kernel: ask again, but not in haste.
const AGAIN_MS = 50;

async function hasAnswer(fd: Fd): Promise<boolean> {
  const pollfd = Buffer.alloc(8);
  pollfd.writeInt32LE(fd, 0);
  pollfd.writeInt16LE(POLLIN, 4);
  while ((await poll(pollfd, AGAIN_MS)) > 0)
    for (let got = receive(fd); got !== undefined; got = receive(fd))
      if (got.data[0] === ECHO_REPLY.ip6) return true;
  return false;
}

function notReady({ namespace, port }: LinkEnd): Error {
  return new Error(`${namespace}: link ${port} carries no packets after ${DEADLINE_MS / 1000} s`);
}
