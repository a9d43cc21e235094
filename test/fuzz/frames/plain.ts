/** What the agent says of plain packets, beside what becomes of them: the reference, and the trace through its rules. */

import { walkKernel } from '../../../src/answers/readback/kernelwalk.ts';
import { FAMILIES } from '../../../src/model/address.ts';
import type { Flow } from '../../../src/model/flow.ts';
import { evaluator } from '../../../src/semantics/evaluate.ts';
import type { Draws } from './draws.ts';
import { ADDRESSES, GATEWAYS, type Host, OVERLAY } from './network.ts';
import { type Frame, type Packet, PLACES } from './packet.ts';
import type { Stage } from './stage.ts';

export const PLAIN_FLOWS = 24;
/** Whom node n1 judges alone: what is sent to sealed its own node has a say in. */
const FROM = ['attacker', 'victim', 'friend', 'loose', 'remote', 'outside'] as const;
const TO = ['attacker', 'victim', 'friend', 'loose', 'remote', 'outside', 'n1'] as const;
const PROTOCOLS = [
  ['UDP', 17],
  ['TCP', 6],
  ['SCTP', 132],
  ['ICMP', 1],
  [89, 89],
] as const;
const PORTS = [53, 80, 67, 68, 443, 4789, 8472, 6081, 10_250, 1, 65_535];
const ICMPV6 = 58;

interface Plain {
  readonly flow: Flow;
  readonly frame: Frame;
  readonly to: Host;
}

/** One sentence for each packet of which the agent says what did not happen. */
export async function misjudged(stage: Stage, draws: Draws): Promise<string[]> {
  const { cluster, rules, unknownPods } = stage.ground;
  const all = oneOfEachPair(Array.from({ length: PLAIN_FLOWS }, (_, i) => plain(draws, i)));
  const heard = await stage.hearers(all.map(({ frame }) => frame));
  const evaluate = evaluator(cluster, unknownPods, 'n1');
  const own = new Set([ADDRESSES.n1, GATEWAYS.n1, OVERLAY.n1].flatMap(pair => Object.values(pair)));
  const here = new Set(
    (['attacker', 'victim', 'friend', 'loose'] as const).flatMap(pod => Object.values(ADDRESSES[pod])),
  );
  return all.flatMap(({ flow, to }, i) => {
    const happened = heard[i]!.has(to) ? 'allow' : 'deny';
    const explained = evaluate(flow).verdict;
    const traced =
      walkKernel(rules, flow, own, address => here.has(address)).verdict === 'accept' ? 'allow' : 'deny';
    // The rules of n1 are all that a trace walks through: what remote sends has its own node's say before.
    const isAsTraced = happened === traced || (isOf('remote', flow.from) && happened === 'deny');
    if (happened === explained && isAsTraced) return [];
    const text = `${flow.protocol} ${flow.from} -> ${flow.to}${flow.port === undefined ? '' : `:${flow.port}`}`;
    return [`${text}: explain says ${explained}, trace ${traced}, and the kernel did ${happened}`];
  });
}

/** What has no ports would be the other end's answer. */
function oneOfEachPair(all: readonly Plain[]): Plain[] {
  const key = ({ flow: { from, to, protocol } }: Plain) => [protocol, ...[from, to].sort()].join(' ');
  return [...new Map(all.map(each => [key(each), each])).values()];
}

function isOf(host: Host, address: string): boolean {
  return Object.values<string>(ADDRESSES[host]).includes(address);
}

function plain(draws: Draws, number: number): Plain {
  const family = draws.pick(FAMILIES);
  const from = draws.pick(FROM);
  const to = draws.pick(TO.filter(host => host !== from));
  const [protocol, ipProtocol] = draws.pick(PROTOCOLS);
  const port = draws.pick(PORTS);
  const hasPort = protocol === 'UDP' || protocol === 'TCP' || protocol === 'SCTP';
  const packet: Packet = {
    family,
    from: PLACES[from][family],
    to: PLACES[to][family],
    protocol: protocol === 'ICMP' && family === 'ip6' ? ICMPV6 : ipProtocol,
    // Each its own: none is another's answer.
    sourcePort: 20_000 + number,
    port,
    tcpFlags: 2,
    icmp: [family === 'ip' ? 8 : 128, 0],
    hops: 64,
    repeats: 1,
    change: 0,
  };
  const flow: Flow = { from: packet.from.address, to: packet.to.address, protocol, ...(hasPort && { port }) };
  return {
    flow,
    to,
    frame: { by: from, toMac: 'route', fromMac: 'own', types: [], content: { kind: 'packet', packet } },
  };
}
