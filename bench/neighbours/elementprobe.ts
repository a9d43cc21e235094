/** Whether a map of our tables has an element: asked of the kernel for this one, which takes it microseconds. */
import { podMap } from '../../src/compiler/base.ts';
import {
  DATA,
  ELEMENT,
  ELEMENTS,
  LIST_ELEM,
  MSG,
  NETLINK_NETFILTER,
  NFPROTO,
} from '../../src/kernel/netlink/nftables/constants.ts';
import { AttributeWriter } from '../../src/kernel/netlink/wire/attributes.ts';
import { NLM_F } from '../../src/kernel/netlink/wire/constants.ts';
import { beginMessage, endMessage, readMessages, readReply } from '../../src/kernel/netlink/wire/messages.ts';
import { NetlinkSocket } from '../../src/kernel/netlink/wire/socket.ts';
import { type Address, addressBytes, familyOf } from '../../src/model/address.ts';
import type { Direction } from '../../src/model/policy.ts';
import { TABLE_NAME } from '../../src/nft/ruleset.ts';
import type { Netns } from '../lab/unnamed.ts';

export class ElementProbe {
  readonly #socket: NetlinkSocket;
  readonly #writer = new AttributeWriter();

  constructor(netns: Netns) {
    this.#socket = netns.run(() => new NetlinkSocket(NETLINK_NETFILTER));
  }

  /** Whether policies isolate the pod with this address in a direction, as far as packets can show. */
  isAffected(direction: Direction, address: Address): boolean {
    this.#ask(podMap(direction, familyOf(address)).name, address);
    const length = this.#socket.receive();
    const [first] = readMessages(this.#socket.received, length);
    return first !== undefined && readReply(first) === undefined;
  }

  close(): void {
    this.#socket.close();
  }

  #ask(map: string, address: Address): void {
    const to = this.#writer;
    to.clear();
    const start = beginMessage(to, MSG.GETSETELEM, NLM_F.REQUEST, 1, NFPROTO[familyOf(address)]);
    to.string(ELEMENTS.TABLE, TABLE_NAME);
    to.string(ELEMENTS.SET, map);
    to.nest(ELEMENTS.ELEMENTS, () =>
      to.nest(LIST_ELEM, () =>
        to.nest(ELEMENT.KEY, () => to.hex(DATA.VALUE, Buffer.from(addressBytes(address)).toString('hex'))),
      ),
    );
    endMessage(to, start);
    this.#socket.send(to.memory, to.length);
  }
}
