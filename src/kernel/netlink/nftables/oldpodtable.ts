/**
 * `inet sluice-pods`: what earlier versions kept for attached pods in a table of its own. Its host ports are taken over,
 * and then it goes: it would lead to pods that are long gone.
 */

import { EventLoopYield } from '../../../lib/async/eventloopyield.ts';
import { FAMILIES, type Family } from '../../../model/address.ts';
import { addressType } from '../../../nft/match.ts';
import type { NftSet } from '../../../nft/ruleset.ts';
import { readAttributes } from '../wire/attributes.ts';
import { untilWhole } from '../wire/conversation.ts';
import { ELEMENTS, MSG, NFPROTO_INET } from './constants.ts';
import { ElementsReader } from './elements-reader.ts';
import { type Exchange, Gone, type Request } from './exchange.ts';
import { asking, removeTable } from './othertables.ts';

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
  return removeTable('inet', OLD_POD_TABLE);
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
