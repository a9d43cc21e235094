/** What the counters of a chain of ours have counted, rule by rule: of both families together. */
import { EventLoopYield } from '../../async/eventloopyield.ts';
import { FAMILIES } from '../../model/address.ts';
import { TABLE_NAME } from '../../nft/ruleset.ts';
import { eachAttribute, readAttributes, readString, readU64, type Span } from '../wire/attributes.ts';
import { Conversation, untilWhole } from '../wire/conversation.ts';
import { NetlinkSocket } from '../wire/socket.ts';
import { COUNTER, EXPR, LIST_ELEM, MSG, NETLINK_NETFILTER, NFPROTO, RULE } from './constants.ts';
import { Exchange } from './exchange.ts';

/** Packets by rules that count, in their order; empty where there is no such chain. Throws SocketError, KernelError. */
export async function readCounters(chain: string): Promise<readonly number[]> {
  const conversation = new Conversation(new NetlinkSocket(NETLINK_NETFILTER));
  try {
    return await untilWhole(() => read(new Exchange(conversation), chain));
  } finally {
    conversation.close();
  }
}

async function read(exchange: Exchange, chain: string): Promise<number[]> {
  const sums: number[] = [];
  for (const family of FAMILIES) {
    let at = 0;
    await exchange.dump(
      {
        type: MSG.GETRULE,
        nfproto: NFPROTO[family],
        attributes: to => {
          to.string(RULE.TABLE, TABLE_NAME);
          to.string(RULE.CHAIN, chain);
        },
      },
      new EventLoopYield(),
      ({ attributes }) => {
        const rule = readAttributes(attributes);
        const name = rule.get(RULE.CHAIN);
        if (name === undefined || readString(name) !== chain) return; // old kernels do not choose
        for (const packets of countersOf(rule.get(RULE.EXPRESSIONS))) {
          sums[at] = (sums[at] ?? 0) + packets;
          at++;
        }
      },
    );
  }
  return sums;
}

function countersOf(list: Span | undefined): number[] {
  const found: number[] = [];
  if (list === undefined) return found;
  const { bytes, start, end } = list;
  eachAttribute(bytes, start, end, (type, from, to) => {
    if (type !== LIST_ELEM) return;
    const expr = readAttributes({ bytes, start: from, end: to });
    const [name, data] = [expr.get(EXPR.NAME), expr.get(EXPR.DATA)];
    if (name === undefined || data === undefined || readString(name) !== 'counter') return;
    const packets = readAttributes(data).get(COUNTER.PACKETS);
    if (packets !== undefined) found.push(readU64(packets));
  });
  return found;
}
