/** Tables that the agent's own reader and writer know nothing of: of other families, or under other names. */
import { EventLoopYield } from '../../../lib/async/eventloopyield.ts';
import { KernelError } from '../../../nft/kernel.ts';
import { TABLE_NAME } from '../../../nft/ruleset.ts';
import { readAttributes, readString } from '../wire/attributes.ts';
import { errnoName } from '../wire/constants.ts';
import { Conversation, untilWhole } from '../wire/conversation.ts';
import { NetlinkSocket } from '../wire/socket.ts';
import { Batch } from './batch.ts';
import {
  ANY_NFPROTO,
  CHAIN,
  MSG,
  NETLINK_NETFILTER,
  OTHER_FAMILIES,
  type OtherFamily,
  TABLE,
} from './constants.ts';
import { Exchange } from './exchange.ts';

type OtherTable = readonly [family: OtherFamily, name: string];

export interface RemovedTables {
  /** `inet sluice` of each that existed and is gone. */
  readonly removed: readonly string[];
  /** Why others are not: they have an owner. */
  readonly refused: readonly KernelError[];
}

/**
 * Removes tables of ours in families in which only a newer layout has them. `isOurs` says by the name of a chain that a
 * table is ours, and not a foreign one of the same name. A table that cannot be removed does not keep the others from
 * being removed.
 */
export async function removeOtherTables(isOurs: (chain: string) => boolean): Promise<RemovedTables> {
  const ours: OtherTable[] = [];
  for (const family of OTHER_FAMILIES)
    if ((await chainsOf(family, TABLE_NAME)).some(isOurs)) ours.push([family, TABLE_NAME]);
  const [removed, refused]: [string[], KernelError[]] = [[], []];
  for (const [family, name] of ours) {
    try {
      if (await removeTable(family, name)) removed.push(`${family} ${name}`);
    } catch (error) {
      if (!(error instanceof KernelError)) throw error;
      refused.push(error);
    }
  }
  return { removed, refused };
}

/** Names; none where there is no such table. */
function chainsOf(family: OtherFamily, table: string): Promise<string[]> {
  return asking(exchange =>
    untilWhole(async () => {
      const chains: string[] = [];
      await exchange.dump(
        { type: MSG.GETCHAIN, nfproto: ANY_NFPROTO[family] },
        new EventLoopYield(),
        ({ attributes }) => {
          const chain = readAttributes(attributes);
          if (readString(chain.get(CHAIN.TABLE)!) === table) chains.push(readString(chain.get(CHAIN.NAME)!));
        },
      );
      return chains;
    }),
  );
}

/** Removes a table with its contents; returns whether it existed. Throws KernelError. */
function removeTable(family: OtherFamily, name: string): Promise<boolean> {
  return asking(async exchange => {
    const batch = new Batch();
    batch.begin(exchange.nextSequence, 0);
    batch.message(MSG.DELTABLE, 0, family, to => to.string(TABLE.NAME, name));
    batch.end('last');
    const [error] = exchange.commitSync(batch).errors;
    if (error === undefined) return true;
    const code = errnoName(error.errno);
    if (ABSENT.has(code)) return false;
    throw new KernelError(code, `${code}: delete table ${family} ${name}; nothing was changed`);
  });
}

/** No such table, or a kernel that is built without the family. */
const ABSENT = new Set(['ENOENT', 'EAFNOSUPPORT', 'EOPNOTSUPP']);

export async function asking<T>(ask: (exchange: Exchange) => Promise<T>): Promise<T> {
  const conversation = new Conversation(new NetlinkSocket(NETLINK_NETFILTER));
  try {
    return await ask(new Exchange(conversation));
  } finally {
    conversation.close();
  }
}
