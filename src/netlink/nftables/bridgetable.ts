/** Our table of bridges before our tables are opened: whether there can be one, and what a predecessor left in it. */
import { EventLoopYield } from '../../async/eventloopyield.ts';
import { type MissingFeature, NO_BRIDGE_TABLES } from '../../nft/missingfeature.ts';
import type { Ruleset } from '../../nft/ruleset.ts';
import { Conversation, untilWhole } from '../wire/conversation.ts';
import { NetlinkSocket } from '../wire/socket.ts';
import { NETLINK_NETFILTER } from './constants.ts';
import { Exchange } from './exchange.ts';
import { knowsBridges } from './probe.ts';
import { readRuleset } from './read-ruleset.ts';

export interface BridgeTable {
  readonly missingFeatures: readonly MissingFeature[];
  /** Without a table where there is none. */
  readonly ruleset: Ruleset;
}

export async function readBridgeTable(): Promise<BridgeTable> {
  const conversation = new Conversation(new NetlinkSocket(NETLINK_NETFILTER));
  try {
    const exchange = new Exchange(conversation);
    const reader = await untilWhole(() => readRuleset(exchange, new EventLoopYield(), ['bridge']));
    const ruleset = reader.ruleset();
    const isTaken = ruleset.tables.size > 0 || knowsBridges(exchange);
    return { missingFeatures: isTaken ? [] : [NO_BRIDGE_TABLES], ruleset };
  } finally {
    conversation.close();
  }
}
