/** The protocols that keys of sets have by name: those with ports. Other protocols are written as numbers. */
import { PROTOCOL_NUMBER } from '../model/ipprotocol.ts';

const NAMES = ['tcp', 'udp', 'sctp'] as const;

export const NUMBER_OF_KEY_PROTOCOL: ReadonlyMap<string, number> = new Map(
  NAMES.map(name => [name, PROTOCOL_NUMBER[name]]),
);

export const KEY_PROTOCOL_OF_NUMBER: ReadonlyMap<number, string> = new Map(
  NAMES.map(name => [PROTOCOL_NUMBER[name], name]),
);
