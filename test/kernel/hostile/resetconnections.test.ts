/**
 * A connection that was reset is one that policy may come to deny: for ten seconds the kernel takes a new one by the same
 * ports for more of it, and each packet renews them.
 */
import { afterEach, expect, test } from 'vitest';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { Agent } from '../../../src/agent/agent.ts';
import { LiveConnections } from '../../../src/agent/connections/liveconnections.ts';
import { Incremental } from '../../../src/compiler/live/incremental.ts';
import { decodeObject } from '../../../src/inputs/kube/decode/decode.ts';
import { openConntrack } from '../../../src/kernel/netlink/conntrack/conntrack.ts';
import { openNftKernel } from '../../../src/kernel/netlink/nftables/nft-kernel.ts';
import { FAMILIES, type Family } from '../../../src/model/address.ts';
import { packet, TCP_FLAGS } from '../../../src/nft/trace/packet.ts';
import { arrives } from './attack.ts';
import { enforcedGround } from './enforced.ts';
import { ADDRESSES, CLUSTER } from './ground.ts';

const { syn, ack, rst } = TCP_FLAGS;
const LET_IN = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'let-in', namespace: 'shop' },
  spec: { podSelector: { matchLabels: { app: 'victim' } }, ingress: [{}] },
};
/** Nobody listens: what pods say of that themselves would end the connection before. */
const SAY_NOTHING =
  'table inet silent { chain c { type filter hook output priority 0; tcp flags rst drop;\n}\n}';

const ground = enforcedGround({ network: 'ptp' }, LET_IN);
const end = new AbortController();
let ended: Promise<void> | undefined;

afterEach(async () => {
  end.abort();
  await ended;
});

type Way = readonly ['loose', 'victim'] | readonly ['victim', 'loose'];

function passes([from, to]: Way, tcpFlags: number, family: Family): Promise<boolean> {
  const ports = from === 'loose' ? { sourcePort: 5555, port: 80 } : { sourcePort: 80, port: 5555 };
  const ends = { from: ADDRESSES[from][family], to: ADDRESSES[to][family] };
  return arrives(ground, { from, to, packets: [packet({ ...ends, ...ports, protocol: 'TCP', tcpFlags })] });
}

/** Until the rules are in force, and what was open before has been looked at. */
async function startAgent(): Promise<void> {
  const onNode = <T>(work: () => T) => inNamespace(ground.path('node'), work);
  const lines: string[] = [];
  const say = (_: object, message: string) => void lines.push(message);
  const log = { debug: say, info: say, warn: say, error: say };
  const ownAddresses = () => new Set(Object.values(ADDRESSES.node));
  const live = new LiveConnections({ conntrack: onNode(() => openConntrack()), ownAddresses, log });
  const agent = new Agent({
    open: () => onNode(() => openNftKernel()),
    engine: () => new Incremental('n1'),
    log,
    observers: [live],
  });
  agent.apply(CLUSTER.map(object => decodeObject(object).event!));
  ended = agent.run(end.signal).finally(() => live.close());
  await expect.poll(() => lines.some(line => /rules|nothing to change/.test(line))).toBe(true);
  await live.settled();
}

test('what was reset is cut with what is open, so that its ports open nothing new', async () => {
  for (const pod of ['loose', 'victim'] as const) ground.exec(pod, 'nft', ['-f', '-'], SAY_NOTHING);
  for (const family of FAMILIES) {
    expect(await passes(['loose', 'victim'], syn, family)).toBe(true);
    expect(await passes(['victim', 'loose'], syn | ack, family)).toBe(true);
    expect(await passes(['loose', 'victim'], ack, family)).toBe(true);
    expect(await passes(['victim', 'loose'], rst, family)).toBe(true);
  }
  await ground.endAgent();
  await startAgent();
  for (const family of FAMILIES) expect(await passes(['loose', 'victim'], syn, family)).toBe(false);
});
