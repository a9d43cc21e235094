/**
 * Control packets: the agent sends them to itself, and rules at `output` turn them into elements. One is a UDP packet to
 * the pod from the peer whose pair it is about; its ports say what is meant. It never leaves the node.
 */

/** SO_MARK of the agent's socket: no packet of a pod passes `output`, and on the node it takes a capability to set it. */
export const CONTROL_MARK = 0x534c5543;

/** The number of the queue in which answers wait. */
export const QUEUE_NUMBER = 53;

/** The port at which pods ask resolvers. */
export const DNS_PORT = 53;

/** What a control packet means, as its source and destination ports side by side. */
export type Command = number;

/** Answers from this port of resolvers wait from now on, for as long as the switch says. */
export const startWaiting = (port: number): Command => (1 << 16) | port;
/** They do not. */
export const stopWaiting = (port: number): Command => (2 << 16) | port;

/** Answers wait only while the agent says so again: a hung one costs no more than that. */
export const SWITCH_MS = 2_000;
export const HEARTBEAT_INTERVAL_MS = 400;

/** A pod's answers beyond this rate do not wait. */
export const MOST_ANSWERS = { perSecond: 1_000, burst: 2_000 } as const;

/** More than the limits let in: the kernel never has to refuse an element. */
export const SET_SIZE = 65_536;

export const sourcePort = (command: Command): number => command >>> 16;
export const commandDestination = (command: Command): number => command & 0xffff;

/** The commands of a set: even to learn, one more to forget. Above all others. */
export function commandOf(digest: number): Command {
  return ((digest | 0x8000_0000) & ~1) >>> 0;
}

export const toForget = (learn: Command): Command => learn + 1;
