/**
 * Tries flows with real packets, very many at once, from this one process: its sockets live in the namespaces of
 * the hosts. A flow is open if its packet arrived and the answer came back.
 */
import { type Address, type Family, familyOf } from '../../../src/model/address.ts';
import { PROTOCOL_NUMBER } from '../../../src/model/ipprotocol.ts';
import type { Attempt, Probe } from './attempt.ts';
import { echoDialogue } from './icmp.ts';
import { otherDialogue } from './other.ts';
import { tryRaw } from './raw.ts';
import { Round } from './round.ts';
import { sctpDialogue, speaksSctp } from './sctp.ts';
import { tryStream } from './stream.ts';
import { tryUdp } from './udp.ts';

export type ProbeOutcome = 'open' | 'closed';

export interface ProbeOptions {
  /** A flow is closed when it is still unanswered and nothing at all has arrived for this long. Default: 300. */
  readonly quietMs?: number;
}

/** One outcome for each probe, in their order. Throws ProbeError where no verdict can be had. */
export async function probe(
  hosts: { namespaceOf(address: Address): string },
  probes: readonly Probe[],
  { quietMs = 300 }: ProbeOptions = {},
): Promise<ProbeOutcome[]> {
  const outcomes: ProbeOutcome[] = probes.map(() => 'closed');
  for (let first = 0; first < probes.length; first += AT_ONCE)
    await runRound(hosts, probes.slice(first, first + AT_ONCE), quietMs, index => {
      outcomes[first + index] = 'open';
    });
  return outcomes;
}

// A limit, because each probe needs a file descriptor or two.
const AT_ONCE = 4000;

async function runRound(
  hosts: { namespaceOf(address: Address): string },
  probes: readonly Probe[],
  quietMs: number,
  open: (index: number) => void,
): Promise<void> {
  const round = new Round(hosts.namespaceOf);
  try {
    start(round, attemptsOf(round, probes, open));
    await round.settle(quietMs);
  } finally {
    round.close();
  }
}

let attempted = 0;

function attemptsOf(round: Round, probes: readonly Probe[], open: (index: number) => void): Attempt[] {
  round.outstanding = probes.length;
  return probes.map((probe, index) => ({
    probe,
    id: ++attempted,
    open: () => {
      round.outstanding--;
      open(index);
    },
  }));
}

function start(round: Round, attempts: readonly Attempt[]): void {
  for (const [kind, group] of Map.groupBy(attempts, kindOf)) {
    if (kind === 'TCP') tryStream(round, group, PROTOCOL_NUMBER.tcp);
    else if (kind === 'SCTP') tryStream(round, group, PROTOCOL_NUMBER.sctp);
    else if (kind === 'UDP') tryUdp(round, group);
    else tryRaw(round, group, dialogueOf(kind));
  }
}

type RawKind = `${'ICMP' | 'SCTP' | number} ${Family}`;

function kindOf({ probe: { protocol, from } }: Attempt): 'TCP' | 'UDP' | 'SCTP' | RawKind {
  if (protocol === 'TCP' || protocol === 'UDP') return protocol;
  return protocol === 'SCTP' && speaksSctp() ? protocol : `${protocol} ${familyOf(from)}`;
}

function dialogueOf(kind: RawKind) {
  const [protocol, family] = kind.split(' ') as ['ICMP' | 'SCTP' | `${number}`, Family];
  if (protocol === 'ICMP') return echoDialogue(family);
  return protocol === 'SCTP' ? sctpDialogue() : otherDialogue(Number(protocol));
}
