/** UDP: a datagram to an echo server, and back. */
import { connect, POLLIN, receive, SOCK_DGRAM, send } from '../libc.ts';
import { type Attempt, bindEnd, byEndpoint, target } from './attempt.ts';
import type { Round } from './round.ts';
import { socketAddress } from './sockaddr.ts';
import { bindFreshPort } from './sourceport.ts';

export function tryUdp(round: Round, attempts: readonly Attempt[]): void {
  for (const [{ probe }] of byEndpoint(attempts).values() as Iterable<[Attempt]>) echoAt(round, probe);
  for (const attempt of attempts) ask(round, attempt);
}

function echoAt(round: Round, probe: Attempt['probe']): void {
  const fd = round.socket(probe.to, SOCK_DGRAM, 0, fd => bindEnd(fd, probe));
  round.watch(fd, POLLIN, () => {
    for (let got = receive(fd); got !== undefined; got = receive(fd)) send(fd, got.data, got.from);
  });
}

function ask(round: Round, { probe, id, open }: Attempt): void {
  const { address, port } = target(probe);
  const question = Buffer.from(`sluice ${id}`);
  const fd = round.socket(probe.from, SOCK_DGRAM, 0, fd => {
    bindFreshPort(fd, probe.from);
    connect(fd, socketAddress(address, port));
    send(fd, question);
  });
  round.watch(fd, POLLIN, () => {
    if (!receive(fd)?.data.equals(question)) return;
    round.unwatch(fd);
    open();
  });
}
