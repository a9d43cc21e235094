/**
 * Control packets: UDP packets that the agent sends on its own node, which rules at `output` turn into set elements.
 * Source and destination are the peer and the pod of the pair, and the ports say what to do with it. They never leave
 * the node.
 */

/**
 * SO_MARK of the agent's socket. Packets of pods never pass `output`, and setting a mark on the node needs a
 * capability.
 */
export const CONTROL_MARK = 0x534c5543;

/** The number of the queue in which answers wait. */
export const QUEUE_NUMBER = 53;

/** The port to which pods send DNS queries. */
export const DNS_PORT = 53;

/** What a control packet means, as its source and destination ports side by side. */
export type Command = number;

/** Answers from this port of resolvers wait in the queue from now on, until the switch expires. */
export const startWaiting = (port: number): Command => (1 << 16) | port;
/** Answers from this port no longer wait. */
export const stopWaiting = (port: number): Command => (2 << 16) | port;

/** Answers wait only while the agent renews the switch, so that an agent that hangs delays them no longer than this. */
export const SWITCH_MS = 2_000;
export const HEARTBEAT_INTERVAL_MS = 400;

/** Answers to a pod beyond this rate do not wait, and nothing is learnt from them. */
export const MOST_ANSWERS = { perSecond: 1_000, burst: 2_000 } as const;

/** More elements than the limits allow, so that the kernel never refuses one. */
export const SET_SIZE = 65_536;

export const sourcePort = (command: Command): number => command >>> 16;
export const commandDestination = (command: Command): number => command & 0xffff;

/**
 * The commands of a set: an even number adds an element, and the next odd one deletes it. They are larger than all
 * other commands.
 */
export function learnCommandOf(digest: number): Command {
  return ((digest | 0x8000_0000) & ~1) >>> 0;
}

export const forgetCommandOf = (learn: Command): Command => learn + 1;
