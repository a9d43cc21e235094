/** TCP: a handshake with a listener, done by the kernels of both ends. */
import { bind, connect, listen, POLLOUT, resetOnClose, SOCK_STREAM, socketError } from '../libc.ts';
import { type Attempt, byEndpoint, ProbeError, target } from './attempt.ts';
import type { Round } from './round.ts';
import { socketAddress } from './sockaddr.ts';
import { bindFreshPort } from './sourceport.ts';

// Nobody accepts: a handshake is complete once it is in this queue.
const BACKLOG = 4096;

export function tryTcp(round: Round, attempts: readonly Attempt[]): void {
  for (const [{ probe }] of byEndpoint(attempts).values() as Iterable<[Attempt]>) listenAt(round, probe);
  for (const attempt of attempts) dial(round, attempt);
}

function listenAt(round: Round, { to, port = 0 }: Attempt['probe']): void {
  round.socket(to, SOCK_STREAM, 0, fd => {
    bind(fd, socketAddress(to, port));
    listen(fd, BACKLOG);
  });
}

function dial(round: Round, { probe, open }: Attempt): void {
  const { address, port } = target(probe);
  const fd = round.socket(probe.from, SOCK_STREAM, 0, fd => {
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
