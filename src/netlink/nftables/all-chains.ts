import { readAttributes, readString } from '../wire/attributes.ts';
import { Conversation, untilWhole } from '../wire/conversation.ts';
import { EventLoopYield } from '../wire/eventloopyield.ts';
import { NetlinkSocket } from '../wire/socket.ts';
import { CHAIN, MSG, NETLINK_NETFILTER } from './constants.ts';
import { Exchange } from './exchange.ts';

/** Everybody's. */
const NFPROTO_UNSPEC = 0;
const ATTEMPTS = 3;

/**
 * Visits every chain of the network namespace that the calling thread is in, of whatever family, those of iptables
 * with nf_tables included. One may be visited twice, where somebody changes them meanwhile. Throws where nf_tables
 * cannot be read, and where it changes all the time.
 */
export async function eachChain(visit: (table: string, chain: string) => void): Promise<void> {
  // Before anything is awaited: the thread may be elsewhere by then.
  const conversation = new Conversation(new NetlinkSocket(NETLINK_NETFILTER));
  try {
    await untilWhole(() => dumpChains(new Exchange(conversation), visit), ATTEMPTS);
  } finally {
    conversation.close();
  }
}

function dumpChains(exchange: Exchange, visit: (table: string, chain: string) => void): Promise<void> {
  const request = { type: MSG.GETCHAIN, nfproto: NFPROTO_UNSPEC };
  return exchange.dump(request, new EventLoopYield(), message => {
    const attributes = readAttributes(message.attributes);
    const [table, chain] = [attributes.get(CHAIN.TABLE), attributes.get(CHAIN.NAME)];
    if (table !== undefined && chain !== undefined) visit(readString(table), readString(chain));
  });
}
