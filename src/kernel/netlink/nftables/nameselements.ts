/** The elements that packets have put into our dynamic sets: an agent that starts takes them over. */

import { EventLoopYield } from '../../../lib/async/eventloopyield.ts';
import type { NftSet } from '../../../nft/ruleset.ts';
import { Conversation, untilWhole } from '../wire/conversation.ts';
import { NetlinkSocket } from '../wire/socket.ts';
import { NETLINK_NETFILTER } from './constants.ts';
import { Exchange } from './exchange.ts';
import { readDynamicSets } from './read-ruleset.ts';

/** Of the network namespace of this thread. Throws KernelError. */
export async function readNamesElements(): Promise<readonly NftSet[]> {
  const conversation = new Conversation(new NetlinkSocket(NETLINK_NETFILTER));
  try {
    const { tables } = await untilWhole(() =>
      readDynamicSets(new Exchange(conversation), new EventLoopYield()),
    );
    return [...tables.values()].flatMap(({ sets }) =>
      [...sets.values()].filter(({ dynamic }) => dynamic !== undefined),
    );
  } finally {
    conversation.close();
  }
}
