/** Our tables, read from the kernel: tables, chains, sets, rules, elements. */
import { EventLoopYield } from '../../../lib/async/eventloopyield.ts';
import { FAMILIES } from '../../../model/address.ts';
import {
  type NftSet,
  type Ruleset,
  TABLE_FAMILIES,
  TABLE_NAME,
  type TableFamily,
} from '../../../nft/ruleset.ts';
import type { AttributeWriter } from '../wire/attributes.ts';
import { Conversation, untilWhole } from '../wire/conversation.ts';
import type { Message } from '../wire/messages.ts';
import { NetlinkSocket } from '../wire/socket.ts';
import { ELEMENTS, MSG, NETLINK_NETFILTER, NFPROTO, RULE, SET, TABLE } from './constants.ts';
import { RulesetReader } from './decode.ts';
import { Exchange, type Request } from './exchange.ts';

/** Throws Interrupted where something changed meanwhile. Parts that are as in `known` are shared with it. */
export async function readRuleset(
  exchange: Exchange,
  slices: EventLoopYield,
  known?: Ruleset,
): Promise<RulesetReader> {
  const reader = new RulesetReader(known);
  const dump = (request: Request) => exchange.dump(request, slices, message => reader.read(message));
  for (const family of TABLE_FAMILIES) {
    if (!readTable(exchange, family, reader)) continue;
    const nfproto = NFPROTO[family];
    await dump({ type: MSG.GETCHAIN, nfproto }); // chains of all tables: the kernel has no filter here
    await dump({ type: MSG.GETSET, nfproto, attributes: to => to.string(SET.TABLE, TABLE_NAME) });
    await dump({ type: MSG.GETRULE, nfproto, attributes: to => to.string(RULE.TABLE, TABLE_NAME) });
  }
  for (const { family, name } of reader.sets()) {
    await dump(elementsOf(family, name));
    if (reader.settle(family, name)) await dump(elementsOf(family, name));
  }
  return reader;
}

/** No chains, and of the sets only those that packets change have their elements. */
async function readDynamicSets(exchange: Exchange, slices: EventLoopYield): Promise<Ruleset> {
  const reader = new RulesetReader();
  const dump = (request: Request) => exchange.dump(request, slices, message => reader.read(message));
  for (const family of FAMILIES) {
    if (!readTable(exchange, family, reader)) continue;
    const attributes = (to: AttributeWriter) => to.string(SET.TABLE, TABLE_NAME);
    await dump({ type: MSG.GETSET, nfproto: NFPROTO[family], attributes });
  }
  for (const { family, name, isDynamic } of reader.sets())
    if (isDynamic) await dump(elementsOf(family, name));
  return reader.ruleset();
}

/** Whether it exists. */
export function readTable(exchange: Exchange, family: TableFamily, reader: RulesetReader): boolean {
  const message = getTable(exchange, family);
  if (message !== undefined) reader.read(message);
  return message !== undefined;
}

/** Undefined where it does not exist. */
export function getTable(exchange: Exchange, family: TableFamily): Message | undefined {
  return exchange.get({
    type: MSG.GETTABLE,
    nfproto: NFPROTO[family],
    attributes: to => to.string(TABLE.NAME, TABLE_NAME),
  });
}

function elementsOf(family: TableFamily, name: string): Request {
  return {
    type: MSG.GETSETELEM,
    nfproto: NFPROTO[family],
    attributes: to => {
      to.string(ELEMENTS.TABLE, TABLE_NAME);
      to.string(ELEMENTS.SET, name);
    },
  };
}

/**
 * The elements that packets have put into our dynamic sets, in the network namespace of this thread: an agent that starts
 * takes them over. Throws KernelError.
 */
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
