import { readAttributes, readString } from '../wire/attributes.ts';
import { EventLoopYield } from '../wire/eventloopyield.ts';
import { Exchange, Interrupted } from '../wire/exchange.ts';
import type { Message } from '../wire/messages.ts';
import { NetlinkSocket } from '../wire/socket.ts';
import { CHAIN, MSG, NETLINK_NETFILTER } from './constants.ts';

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
  const socket = new NetlinkSocket(NETLINK_NETFILTER);
  try {
    await dumpChains(new Exchange(socket), message => {
      const attributes = readAttributes(message.attributes);
      const [table, chain] = [attributes.get(CHAIN.TABLE), attributes.get(CHAIN.NAME)];
      if (table !== undefined && chain !== undefined) visit(readString(table), readString(chain));
    });
  } finally {
    socket.close();
  }
}

async function dumpChains(exchange: Exchange, visit: (message: Message) => void): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await exchange.dump(
        { type: MSG.GETCHAIN, nfproto: NFPROTO_UNSPEC },
        new EventLoopYield(),
        visit,
      );
    } catch (error) {
      if (!(error instanceof Interrupted) || attempt === ATTEMPTS) throw error;
    }
  }
}
