/**
 * `inet sluice-pods`: what earlier versions kept for attached pods in a table of its own. Its host ports are taken over,
 * and then it goes: it would lead to pods that are long gone.
 */

import { EventLoopYield } from '../../async/eventloopyield.ts';
import { FAMILIES, type Family } from '../../model/address.ts';
import { KernelError } from '../../nft/kernel.ts';
import { addressType } from '../../nft/match.ts';
import type { NftSet } from '../../nft/ruleset.ts';
import { readAttributes } from '../wire/attributes.ts';
import { Conversation, untilWhole } from '../wire/conversation.ts';
import { errnoName } from '../wire/errno.ts';
import { NetlinkSocket } from '../wire/socket.ts';
import { Batch } from './batch.ts';
import { ELEMENTS, MSG, NETLINK_NETFILTER, NFPROTO_INET, TABLE } from './constants.ts';
import { ElementsReader } from './elements-reader.ts';
import { Exchange, Gone, type Request } from './exchange.ts';

export const OLD_POD_TABLE = 'sluice-pods';

/** Its maps from protocol and port to address and port; empty ones where it does not exist. */
export function readOldHostPorts(): Promise<ReadonlyMap<Family, NftSet>> {
  return asking(async exchange => {
    const maps = new Map<Family, NftSet>();
    for (const family of FAMILIES) maps.set(family, await readMap(exchange, family));
    return maps;
  });
}

/** Whether it existed. Throws KernelError. */
export function removeOldPodTable(): Promise<boolean> {
  return asking(async exchange => {
    const batch = new Batch();
    batch.begin(exchange.nextSequence, 0);
    batch.message(MSG.DELTABLE, 0, 'inet', to => to.string(TABLE.NAME, OLD_POD_TABLE));
    batch.end('last');
    const [error] = exchange.commitSync(batch).errors;
    if (error === undefined) return true;
    const code = errnoName(error.errno);
    if (code === 'ENOENT') return false;
    throw new KernelError(code, `${code}: delete table inet ${OLD_POD_TABLE}; nothing was changed`);
  });
}

async function asking<T>(ask: (exchange: Exchange) => Promise<T>): Promise<T> {
  const conversation = new Conversation(new NetlinkSocket(NETLINK_NETFILTER));
  try {
    return await ask(new Exchange(conversation));
  } finally {
    conversation.close();
  }
}

function readMap(exchange: Exchange, family: Family): Promise<NftSet> {
  return untilWhole(async () => {
    const reader = new ElementsReader(mapOf(family));
    try {
      await exchange.dump(elementsOf(family), new EventLoopYield(), ({ attributes }) => {
        const list = readAttributes(attributes).get(ELEMENTS.ELEMENTS);
        if (list !== undefined) reader.read(list);
      });
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
    }
    return reader.finished();
  });
}

function elementsOf(family: Family): Request {
  return {
    type: MSG.GETSETELEM,
    nfproto: NFPROTO_INET,
    attributes: to => {
      to.string(ELEMENTS.TABLE, OLD_POD_TABLE);
      to.string(ELEMENTS.SET, mapOf(family).name);
    },
  };
}

function mapOf(family: Family): NftSet {
  return {
    name: `host-ports-${family}`,
    key: ['inet_proto', 'inet_service'],
    verdicts: false,
    data: [addressType(family), 'inet_service'],
    interval: false,
    elements: new Map(),
  };
}
