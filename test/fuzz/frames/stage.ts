/** Has sequences of frames sent, and hears and asks what became of them. */
import { closeSync, openSync, readSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import koffi from 'koffi';
import { forgetConnections } from '../../../bench/lab/conntrack.ts';
import { SystemError } from '../../../bench/lab/libc.ts';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { openConntrack } from '../../../src/kernel/netlink/conntrack/conntrack.ts';
import { libc } from '../../../src/kernel/netlink/wire/libc.ts';
import type { Connection, Conntrack } from '../../../src/nft/conntrack.ts';
import { bytesOf, tagsIn } from './bytes.ts';
import { isExpected } from './exceptions.ts';
import type { Game, SenderName } from './games.ts';
import type { FrameGround } from './ground.ts';
import { type Host, SERVICES } from './network.ts';
import { type Frame, type Packet, PLACES, type Sequence } from './packet.ts';
import { Ears, Sender, Tap } from './sockets.ts';

const SENDERS: readonly SenderName[] = [
  'attacker',
  'victim',
  'friend',
  'loose',
  'remote',
  'sealed',
  'outside',
];
/** n2 hears all that leaves n1 for it, before its own rules. */
const TAPPED: readonly Host[] = [
  'attacker',
  'victim',
  'friend',
  'loose',
  'remote',
  'sealed',
  'outside',
  'n2',
];
const MOST_HITS = 64;
/** Who hears what friend sends behind all others. */
const CONTROLLED = ['victim', 'remote', 'sealed', 'loose', 'outside', 'n1'] as const;
const MOST_WAITS = 2_000;

/** What policy denies, and happened. `sequence` is the place in the list that was played. */
export type Hit =
  | {
      readonly kind: 'heard';
      readonly sequence: number;
      readonly frame: number;
      readonly hearer: Host;
      readonly data: Buffer;
    }
  | { readonly kind: 'tracked'; readonly connection: Connection };

type HearAt = (hearer: Host) => (data: Buffer) => void;
type Place = readonly [sequence: number, frame: number];

/** Which frame of which sequence a tag is of; tags are given one by one. */
class Played {
  readonly #first: number;
  readonly #places: Place[] = [];

  constructor(first: number) {
    this.#first = first;
  }

  add(place: Place): void {
    this.#places.push(place);
  }

  at(tag: number): Place | undefined {
    return this.#places[tag - this.#first];
  }
}

export class Stage {
  readonly ground: FrameGround;
  readonly #senders: ReadonlyMap<SenderName, Sender>;
  readonly #taps: ReadonlyMap<Host, Tap>;
  readonly #ears: Ears;
  readonly #conntrack: Conntrack;
  readonly #count: number;
  #nextTag = 1;
  /** How many connections node n1 tracks of what is sent behind all others. */
  #ofControl = 0;

  static async open(ground: FrameGround): Promise<Stage> {
    const stage = new Stage(ground);
    stage.forget();
    await stage.#untilAllIsHeard(() => () => {});
    stage.#ofControl = stage.#countNow();
    return stage;
  }

  private constructor(ground: FrameGround) {
    this.ground = ground;
    // eth0 is the first link of its namespace behind lo, but where tunnels brought theirs.
    this.#senders = new Map(
      SENDERS.map(host => [host, new Sender(ground.path(host), indexOf(ground, host))]),
    );
    this.#taps = new Map(TAPPED.map(host => [host, new Tap(ground.path(host))]));
    this.#ears = new Ears(ground.path('n1'));
    [this.#conntrack, this.#count] = inNamespace(ground.path('n1'), () => [
      openConntrack(),
      openSync('/proc/sys/net/netfilter/nf_conntrack_count', 'r'),
    ]);
  }

  /** How many frames the kernel took. */
  get sent(): number {
    return [...this.#senders.values()].reduce((sum, { sent }) => sum + sent, 0);
  }

  /** All first frames, then all second ones: each sequence keeps its order. */
  async play(game: Game, sequences: readonly Sequence[]): Promise<Hit[]> {
    const hits: Hit[] = [];
    const played = new Played(this.#nextTag);
    const others = pairsOfOthers(game, sequences);
    const hear = (hearer: Host) => (data: Buffer) => {
      for (const tag of tagsIn(data)) {
        const found = played.at(tag);
        if (found === undefined) continue; // of an earlier play
        const frame = sequences[found[0]]![found[1]]!;
        if (hits.length >= MOST_HITS || !game.denies(frame.by, hearer)) continue;
        if (isExpected({ frame, hearer, data, others, wiring: this.ground.wiring }, game)) continue;
        hits.push({ kind: 'heard', sequence: found[0], frame: found[1], hearer, data: Buffer.from(data) });
      }
    };
    await this.#sendAndHear(sequences, played, hear);
    hits.push(...(await this.#tracked(game, others)));
    return hits;
  }

  /** Who hears each of the frames, none of which is another's answer. */
  async hearers(frames: readonly Frame[]): Promise<ReadonlySet<Host>[]> {
    this.forget();
    const played = new Played(this.#nextTag);
    const all = frames.map(() => new Set<Host>());
    const hear = (hearer: Host) => (data: Buffer) => {
      for (const tag of tagsIn(data)) {
        const found = played.at(tag);
        if (found !== undefined) all[found[0]]!.add(hearer);
      }
    };
    const sequences = frames.map(frame => [frame]);
    await this.#sendAndHear(sequences, played, hear);
    this.forget();
    return all;
  }

  /** Node n1, and the other one, forget what they know of connections. */
  forget(): void {
    for (const node of ['n1', 'n2'] as const) forgetConnections(this.ground.path(node));
  }

  close(): void {
    for (const each of [...this.#senders.values(), ...this.#taps.values(), this.#ears, this.#conntrack])
      each.close();
    closeSync(this.#count);
  }

  #sendAndHear(sequences: readonly Sequence[], played: Played, hear: HearAt): Promise<void> {
    return onOneCpu(() => {
      this.#send(sequences, played, hear);
      return this.#untilAllIsHeard(hear);
    });
  }

  #send(sequences: readonly Sequence[], played: Played, hear: HearAt): void {
    for (let round = 0; sequences.some(({ length }) => length > round); round++) {
      sequences.forEach((sequence, i) => {
        const frame = sequence[round];
        if (frame === undefined) return;
        const tag = this.#nextTag++;
        played.add([i, round]);
        for (const bytes of bytesOf(frame, tag, this.ground.wiring)) this.#senders.get(frame.by)!.add(bytes);
      });
      for (const sender of this.#senders.values()) sender.flush();
      this.#drain(hear);
    }
  }

  #drain(hear: HearAt): void {
    for (const [host, tap] of this.#taps) tap.drain(hear(host));
    this.#ears.drain(hear('n1'));
  }

  /** What is sent behind all others by who may, on the same processor, is heard behind them; also by the overlay. */
  async #untilAllIsHeard(hear: HearAt): Promise<void> {
    const waited = new Set<Host>(CONTROLLED);
    const tag = this.#nextTag++;
    for (const host of CONTROLLED)
      for (const bytes of bytesOf(control(host), tag, this.ground.wiring))
        this.#senders.get('friend')!.add(bytes);
    this.#senders.get('friend')!.flush();
    for (let waits = 0; waited.size > 0; waits++) {
      this.#drain(hearer => data => {
        if (waited.has(hearer) && tagsIn(data).includes(tag)) waited.delete(hearer);
        hear(hearer)(data);
      });
      if (waits === MOST_WAITS) throw new Error(`${[...waited].join(' and ')}: friend is not heard either`);
      await setImmediate();
    }
  }

  async #tracked(game: Game, others: ReadonlySet<string>): Promise<Hit[]> {
    const hits: Hit[] = [];
    if (this.#countNow() === this.#ofControl) return hits;
    const visit = (connection: Connection) => {
      if (hits.length < MOST_HITS && !game.mayTrack(connection, others))
        hits.push({ kind: 'tracked', connection });
    };
    await this.#conntrack.read('all', () => true, visit);
    this.forget();
    return hits;
  }

  #countNow(): number {
    const bytes = Buffer.alloc(16);
    return Number.parseInt(bytes.toString('latin1', 0, readSync(this.#count, bytes, 0, bytes.length, 0)), 10);
  }
}

/** Of all packets that others than the adversary send. */
function pairsOfOthers(game: Game, sequences: readonly Sequence[]): Set<string> {
  const pairs = CONTROLLED.map(control).flatMap(pairsOf);
  for (const sequence of sequences)
    for (const frame of sequence) if (frame.by !== game.adversary) pairs.push(...pairsOf(frame));
  return new Set(pairs);
}

/** With where a Service leads it. */
function pairsOf({ content }: Frame): string[] {
  if (content.kind !== 'packet') return [];
  const { family, from, to } = content.packet;
  const service = Object.values(SERVICES).find(({ vip }) => vip[family] === to.address);
  return [to.address, ...(service === undefined ? [] : [service.to[family]])].map(
    end => `${from.address} ${end}`,
  );
}

function control(to: (typeof CONTROLLED)[number]): Frame {
  const packet: Packet = {
    family: 'ip',
    from: PLACES.friend.ip,
    to: PLACES[to].ip,
    protocol: 17,
    sourcePort: 4000,
    port: 4000,
    tcpFlags: 0,
    icmp: [8, 0],
    hops: 64,
    repeats: 1,
    change: 0,
  };
  return { by: 'friend', toMac: 'route', fromMac: 'own', types: [], content: { kind: 'packet', packet } };
}

function indexOf(ground: FrameGround, host: Host): number {
  return (
    JSON.parse(ground.exec(host, 'ip', ['-j', 'link', 'show', 'dev', 'eth0'])) as { ifindex: number }[]
  )[0]!.ifindex;
}

const CPU_SET_BYTES = 128;
const cpus = {
  current: libc.func('int sched_getcpu(void)'),
  get: libc.func('int sched_getaffinity(int pid, size_t size, void *mask)'),
  set: libc.func('int sched_setaffinity(int pid, size_t size, const void *mask)'),
};

/** Frames that are handed from link to link wait in the line of the processor that sent them; between plays any will do. */
async function onOneCpu<T>(work: () => Promise<T>): Promise<T> {
  const [all, one] = [Buffer.alloc(CPU_SET_BYTES), Buffer.alloc(CPU_SET_BYTES)];
  const cpu = cpus.current() as number;
  one[cpu >> 3] = 1 << (cpu & 7);
  const isMoved = cpus.get(0, all.length, all) === 0 && cpus.set(0, one.length, one) === 0;
  if (!isMoved) throw new SystemError('sched_setaffinity', koffi.errno());
  try {
    return await work();
  } finally {
    cpus.set(0, all.length, all);
  }
}
