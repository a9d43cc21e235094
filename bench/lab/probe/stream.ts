/** TCP and SCTP: a handshake with a listener, done by the kernels of client and server. */
import { connect, listen, POLLOUT, resetOnClose, SOCK_STREAM, socketError } from '../libc.ts';
import { type Attempt, bindEnd, byEndpoint, ProbeError, target } from './attempt.ts';
import type { Round } from './round.ts';
import { socketAddress } from './sockaddr.ts';
import { bindFreshPort } from './sourceport.ts';

// Connections are never accepted: a handshake is complete once it is in this queue.
const BACKLOG = 4096;

/** `protocol` is IPPROTO_TCP or IPPROTO_SCTP. */
export function tryStream(round: Round, attempts: readonly Attempt[], protocol: number): void {
  for (const [{ probe }] of byEndpoint(attempts).values() as Iterable<[Attempt]>)
    listenAt(round, probe, protocol);
  for (const attempt of attempts) dial(round, attempt, protocol);
}

function listenAt(round: Round, probe: Attempt['probe'], protocol: number): void {
  round.socket(probe.to, SOCK_STREAM, protocol, fd => {
    bindEnd(fd, probe);
    listen(fd, BACKLOG);
  });
}

function dial(round: Round, { probe, open }: Attempt, protocol: number): void {
  const { address, port } = target(probe);
  const fd = round.socket(probe.from, SOCK_STREAM, protocol, fd => {
    resetOnClose(fd);
    bindFreshPort(fd, probe.from);
    connect(fd, socketAddress(address, port));
  });
  round.watch(fd, POLLOUT, () => {
    const error = socketError(fd);
    if (error !== undefined) throw new ProbeError(probe, error);
    round.unwatch(fd);
    open();
  });
}
