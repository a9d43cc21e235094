/** Tables that the agent's own reader and writer know nothing of: of other families, or under other names. */
import { KernelError } from '../../nft/kernel.ts';
import { TABLE_NAME } from '../../nft/ruleset.ts';
import { Conversation } from '../wire/conversation.ts';
import { errnoName } from '../wire/errno.ts';
import { NetlinkSocket } from '../wire/socket.ts';
import { Batch } from './batch.ts';
import { MSG, NETLINK_NETFILTER, OTHER_FAMILIES, type OtherFamily, TABLE } from './constants.ts';
import { Exchange } from './exchange.ts';

/** Of the families in which a layout that is newer than this program may have them; those that existed. */
export async function removeTablesOfOtherFamilies(): Promise<readonly OtherFamily[]> {
  const removed: OtherFamily[] = [];
  for (const family of OTHER_FAMILIES) if (await removeTable(family, TABLE_NAME)) removed.push(family);
  return removed;
}

/** With all that is in it. Whether it existed. Throws KernelError. */
export function removeTable(family: OtherFamily, name: string): Promise<boolean> {
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
