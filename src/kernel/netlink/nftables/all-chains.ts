import { EventLoopYield } from '../../../lib/async/eventloopyield.ts';
import { readAttributes, readString } from '../wire/attributes.ts';
import { Conversation, untilWhole } from '../wire/conversation.ts';
import { NetlinkSocket } from '../wire/socket.ts';
import { CHAIN, MSG, NETLINK_NETFILTER } from './constants.ts';
import { Exchange } from './exchange.ts';

/** All families. */
const NFPROTO_UNSPEC = 0;
const ATTEMPTS = 3;

/**
 * Visits every chain of all families in the calling thread's network namespace, also those of iptables-nft. A chain may
 * be visited twice if another process changes chains meanwhile. Throws if nf_tables cannot be read, and if it keeps
 * changing.
 */
export function eachChain(visit: (table: string, chain: string) => void): Promise<void> {
  return eachOf(MSG.GETCHAIN, CHAIN.NAME, visit);
}

/** Visits every flowtable in the same way. */
export function eachFlowtable(visit: (table: string, flowtable: string) => void): Promise<void> {
  return eachOf(MSG.GETFLOWTABLE, FLOWTABLE_NAME, visit);
}

/** NFTA_FLOWTABLE_NAME; the name of the table has the number that it has of a chain. */
const FLOWTABLE_NAME = 2;

async function eachOf(
  type: number,
  nameAttribute: number,
  visit: (table: string, name: string) => void,
): Promise<void> {
  // Opened before any await: later the thread may be in another network namespace.
  const conversation = new Conversation(new NetlinkSocket(NETLINK_NETFILTER));
  try {
    await untilWhole(() => dump(new Exchange(conversation), type, nameAttribute, visit), ATTEMPTS);
  } finally {
    conversation.close();
  }
}

function dump(
  exchange: Exchange,
  type: number,
  nameAttribute: number,
  visit: (table: string, name: string) => void,
): Promise<void> {
  return exchange.dump({ type, nfproto: NFPROTO_UNSPEC }, new EventLoopYield(), message => {
    const attributes = readAttributes(message.attributes);
    const [table, name] = [attributes.get(CHAIN.TABLE), attributes.get(nameAttribute)];
    if (table !== undefined && name !== undefined) visit(readString(table), readString(name));
  });
}
