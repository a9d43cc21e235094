/** Sequences of up to four frames: something new of the adversary's, and what answers, repeats or quotes it. */
import type { Family } from '../../../src/model/address.ts';
import type { Draws } from './draws.ts';
import type { Game, SenderName } from './games.ts';
import { fresh, packetOf, repeats, withMacs } from './generate.ts';
import { ENDS, type Frame, type Packet, PLACES, type Place, type Sequence } from './packet.ts';

const MOST_FRAMES = 4;
const [ICMP, ICMPV6] = [1, 58];
const [SYN, SYN_ACK, RST] = [2, 18, 4];
const ERRORS: Readonly<Record<Family, readonly (readonly [number, number])[]>> = {
  ip: [
    [3, 3],
    [3, 1],
    [3, 4],
    [11, 0],
    [11, 1],
    [12, 0],
    [5, 1],
    [4, 0],
  ],
  ip6: [
    [1, 4],
    [1, 0],
    [2, 0],
    [3, 0],
    [3, 1],
    [4, 0],
    [137, 0],
  ],
};

export function sequence(draws: Draws, game: Game): Sequence {
  const frames: Frame[] = [];
  do {
    draws.mark();
    frames.push(nextFrame(draws, game, frames));
  } while (frames.length < MOST_FRAMES && draws.below(5) > 1);
  return frames;
}

function nextFrame(draws: Draws, game: Game, before: readonly Frame[]): Frame {
  const packets = before.flatMap(({ content }) => (content.kind === 'packet' ? [content.packet] : []));
  const earlier = packets[draws.below(Math.max(packets.length, 1))];
  const how = draws.below(8);
  if (earlier === undefined) return fresh(draws, game.adversary);
  switch (how) {
    case 1:
    case 2:
      return answer(draws, game, earlier);
    case 3:
      return withMacs(draws, game.adversary, reversed(draws, earlier));
    case 4: {
      const error = errorAbout(draws, reversed(draws, earlier), earlier.from, earlier.to);
      return withMacs(draws, game.adversary, error);
    }
    case 5:
      return accomplicesError(draws, game, earlier);
    case 6:
      return withMacs(draws, game.adversary, { ...earlier, repeats: repeats(draws) });
    case 7:
      return accomplicesOwn(draws, game, earlier.family);
    default:
      return fresh(draws, game.adversary);
  }
}

/** By who has the address that the packet was sent to, if it is one who takes part; else by the adversary. */
function answer(draws: Draws, game: Game, packet: Packet): Frame {
  const { host } = packet.to;
  const back = reversed(draws, packet);
  const accomplice = game.accomplices.find(name => name === host);
  if (accomplice === undefined) return withMacs(draws, game.adversary, back);
  return asUsual(accomplice, { ...back, change: 0 });
}

function asUsual(by: SenderName, packet: Packet): Frame {
  return { by, toMac: 'route', fromMac: 'own', types: [], content: { kind: 'packet', packet } };
}

function reversed(draws: Draws, packet: Packet): Packet {
  const { from, to, sourcePort, port, icmp, tcpFlags, inside: _, ...rest } = packet;
  const [type, code] = icmp;
  const ANSWERS: Readonly<Record<number, number>> = { 8: 0, 0: 8, 128: 129, 129: 128, 13: 14, 17: 18 };
  return {
    ...rest,
    from: to,
    to: from,
    sourcePort: port,
    port: sourcePort,
    icmp: [ANSWERS[type] ?? type, code],
    tcpFlags: tcpFlags === SYN ? draws.pick([SYN_ACK!, SYN, RST!]) : tcpFlags,
    hops: 64,
  };
}

/** An ICMP error that quotes a packet; from one of its ends to the other, or to anybody. */
function errorAbout(draws: Draws, quoted: Packet, from: Place, to: Place): Packet {
  const { family } = quoted;
  const { inside: _, ...plain } = quoted;
  return {
    ...plain,
    from,
    to: draws.once(3) ? draws.pick(ENDS[family].all) : to,
    protocol: family === 'ip' ? ICMP! : ICMPV6!,
    icmp: draws.pick(ERRORS[family]),
    hops: 64,
    change: 0,
    inside: { by: 'error', packet: { ...quoted, change: 0 } },
  };
}

function accomplicesError(draws: Draws, game: Game, packet: Packet): Frame {
  const by = draws.pick(game.accomplices);
  const back = PLACES[game.adversary][packet.family];
  return asUsual(by, errorAbout(draws, packet, PLACES[by][packet.family], back));
}

/** To the adversary, by himself. */
function accomplicesOwn(draws: Draws, game: Game, family: Family): Frame {
  const by = draws.pick(game.accomplices);
  const packet = packetOf(draws, by, family, 2);
  return asUsual(by, { ...packet, from: PLACES[by][family], to: PLACES[game.adversary][family], change: 0 });
}
