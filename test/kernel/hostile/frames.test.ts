/** Whatever a pod sends that may send nothing, nobody hears: neither its node, nor its neighbours, nor anybody outside. */
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { close, type Fd, receive, SOCK_RAW, socket } from '../../../bench/lab/libc.ts';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { SEED } from '../../support/seed.ts';
import { withTransport } from './craft.ts';
import { Ear } from './ear.ts';
import { FrameSocket } from './frame.ts';
import {
  type Frame,
  frameBytes,
  frames,
  isOurs,
  MARK,
  type Offload,
  offloadBytes,
  offloads,
} from './frames.ts';
import { ADDRESSES, Ground, type Host, NETWORKS } from './ground.ts';

const AF_PACKET = 17;
const ALL_PROTOCOLS = 0x0300; // ETH_P_ALL, as the network has it
const PACKET_OUTGOING = 4;
const PACKETS = 1_500;
const AT_ONCE = 25;
/** The node's own sockets, behind the rules. */
const PROTOCOLS = [1, 2, 4, 6, 17, 41, 47, 50, 58, 89, 103, 132];

/** Every frame that comes to a pod, or to who is outside. */
class Tap {
  readonly #fd: Fd;

  constructor(namespace: string) {
    this.#fd = inNamespace(namespace, () => socket(AF_PACKET, SOCK_RAW, ALL_PROTOCOLS));
  }

  heard(): Buffer[] {
    const all: Buffer[] = [];
    for (let next = receive(this.#fd); next !== undefined; next = receive(this.#fd))
      if (next.from[10] !== PACKET_OUTGOING) all.push(next.data);
    return all;
  }

  close(): void {
    close(this.#fd);
  }
}

const LISTENERS = ['victim', 'friend', 'loose', 'outside'] as const;

describe.each(NETWORKS)('%s', network => {
  let ground: Ground;

  beforeAll(async () => {
    ground = await Ground.build({ network });
    await ground.enforce();
  });

  afterAll(() => ground.remove());

  test.each([
    ['as they are', false],
    ['that a card is to cut', true],
  ])('frames %s', async (_, isOffloaded) => {
    const sent = fc.sample(frames(MACS), { seed: SEED, numRuns: PACKETS });
    const how = isOffloaded ? fc.sample(offloads, { seed: SEED, numRuns: PACKETS }) : [];
    expect(await listen(ground, macsOf(ground), sent, how)).toEqual([]);
  });
});

const MACS = 7;

/** The pod's own and two others' first: whose it says that a frame is from. */
function macsOf(ground: Ground): string[] {
  const own = ground.mac('attacker');
  const gateway = ground.mac('node', ground.port('attacker'));
  const pods = (['victim', 'friend'] as const).map(pod => ground.mac(pod));
  return [own, ...pods, gateway, 'ff:ff:ff:ff:ff:ff', '33:33:00:00:00:01', '01:00:5e:00:00:01'];
}

/** Who heard of the pod, and by which of its frames. */
async function listen(
  ground: Ground,
  macs: readonly string[],
  sent: readonly (readonly Frame[])[],
  how: readonly Offload[],
): Promise<string[]> {
  const taps = new Map(LISTENERS.map(host => [host as Host, new Tap(ground.path(host))]));
  const ears = PROTOCOLS.flatMap(protocol =>
    (['ip', 'ip6'] as const).map(family => new Ear(ground.path('node'), family, protocol)),
  );
  const sender = new FrameSocket(ground.path('attacker'), ground.index('attacker'), macs[0]!, how.length > 0);
  let taken = 0;
  const heard = (): string[] => [
    ...[...taps].flatMap(([host, tap]) =>
      tap.heard().flatMap(data => (isOurs(data) ? [textOf(host, data)] : [])),
    ),
    ...ears.flatMap(ear =>
      ear.heard().flatMap(({ payload }) => (isOurs(payload) ? [textOf('node', payload)] : [])),
    ),
  ];
  try {
    const found: string[] = [];
    for (let at = 0; at < sent.length; at += AT_ONCE) {
      for (const [i, pieces] of sent.slice(at, at + AT_ONCE).entries())
        for (const frame of pieces) {
          const bytes = frameBytes(frame, macs[frame.macTo]!, macs[frame.macFrom]!);
          const offload = how[at + i];
          if (offload === undefined) sender.sendRaw(bytes);
          else if (sender.trySendRaw(offloadBytes(offload, bytes))) taken++;
        }
      await setImmediate();
      found.push(...heard());
    }
    await untilHeard(ground, heard, found);
    if (how.length > 0) expect(taken).toBeGreaterThan(PACKETS / 10);
    return found.filter(text => !text.includes(LAST));
  } finally {
    sender.close();
    for (const each of [...taps.values(), ...ears]) each.close();
  }
}

const LAST = 'the last of all';

/** What is sent behind all others by who may, and is heard with the mark, tells that they would have been. */
async function untilHeard(ground: Ground, heard: () => string[], found: string[]): Promise<void> {
  const wanted = ['friend', 'outside', 'node'] as const;
  const socket = new FrameSocket(ground.path('loose'), ground.index('loose'), ground.mac('loose'));
  for (const to of wanted) {
    const plain = packet({ from: ADDRESSES.loose.ip, to: ADDRESSES[to].ip, protocol: 89 });
    const marked = withTransport(plain, Buffer.concat([MARK, Buffer.from(LAST)]));
    socket.send(marked, ground.mac('node', ground.port('loose')));
  }
  socket.close();
  await expect
    .poll(() => {
      found.push(...heard());
      return wanted.every(host => found.some(text => text.startsWith(host) && text.includes(LAST)));
    })
    .toBe(true);
}

function textOf(host: Host, data: Buffer): string {
  return `${host}: ${data.toString('latin1').includes(LAST) ? LAST : data.toString('hex')}`;
}
