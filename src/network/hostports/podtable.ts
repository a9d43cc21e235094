/**
 * The table `inet sluice-pods`: what stands for attached pods beside policy, as netlink messages. It is put up again
 * and again as a whole, in one batch; only the elements of its maps are left as they are. Pure.
 *
 *     prerouting, raw      a pod that sends from an address that is not its own is dropped: the node's route to the
 *                          sender does not lead back to where the packet came from. No pod may tell the node its routes.
 *     prerouting, output   a port of the node leads to a pod; behind kube-proxy's, so that a Service keeps its port
 *     postrouting          what leaves the cluster's pods has the node's address; a pod that reaches itself by a port
 *                          of the node, too
 */
import {
  type Address,
  addressBytes,
  type Cidr,
  FAMILIES,
  type Family,
  familyOf,
} from '../../model/address.ts';
import type { Protocol } from '../../model/policy.ts';
import {
  CHAIN,
  CHAIN_POLICY,
  CMP,
  DATA,
  ELEMENT,
  ELEMENTS,
  EXPR,
  HOOK,
  HOOK_NUMBER,
  IMMEDIATE,
  LIST_ELEM,
  LOOKUP,
  META,
  MSG,
  NFPROTO,
  NLM_F,
  PAYLOAD,
  REG_VERDICT,
  RULE,
  SET,
  SET_DESC_SIZE,
  SET_F,
  TABLE,
  UDATA,
} from '../../netlink/nftables/constants.ts';
import { writeComment } from '../../netlink/nftables/userdata.ts';
import { writeVerdict } from '../../netlink/nftables/verdicts.ts';
import type { AttributeWriter } from '../../netlink/wire/attributes.ts';
import { GROUP } from '../attach/wiring.ts';

export const POD_TABLE = 'sluice-pods';
/** NFPROTO_INET: one table for both families. */
export const NFPROTO_INET = 1;

/** One message of a batch. */
export interface TableMessage {
  readonly type: number;
  readonly flags: number;
  readonly write: (to: AttributeWriter) => void;
}

type Write = (to: AttributeWriter) => void;

export interface TableState {
  /** Of this node. */
  readonly podCidrs: readonly Cidr[];
  /** Of all nodes: packets to them keep the pod's address. */
  readonly clusterCidrs: readonly Cidr[];
}

/** `linux/netfilter/nf_tables.h`, in_inet terms; registers are NFT_REG32_00 and following. */
const REG = 8;
const META_KEY = { nfproto: 15, l4proto: 16, iifgroup: 21, oifgroup: 22 } as const;
const NFTA_NAT = { TYPE: 1, FAMILY: 2, REG_ADDR_MIN: 3, REG_PROTO_MIN: 5 } as const;
const NFT_NAT_DNAT = 1;
const NFTA_FIB = { DREG: 1, RESULT: 2, FLAGS: 3 } as const;
const FIB_OIF = 1;
const FIB_ADDRTYPE = 3;
const FIB_SADDR_IIF = 9;
const FIB_DADDR = 2;
const RTN_LOCAL = 2;
const BITWISE = { SREG: 1, DREG: 2, LEN: 3, MASK: 4, XOR: 5 } as const;
const NFTA_SET_DATA_TYPE = 6;
const NFTA_SET_DATA_LEN = 7;
/** nft's own numbers for types: ipv4_addr, ipv6_addr, inet_proto, inet_service; six bits each in a concatenation. */
const NFT_TYPE = { ip: 7, ip6: 8, proto: 12, port: 13 } as const;
const ADDRESS_SIZE: Readonly<Record<Family, number>> = { ip: 4, ip6: 16 };
const HEADER: Readonly<Record<Family, { readonly source: number; readonly destination: number }>> = {
  ip: { source: 12, destination: 16 },
  ip6: { source: 8, destination: 24 },
};
const PROTOCOL_NUMBER: Readonly<Record<Protocol, number>> = { TCP: 6, UDP: 17, SCTP: 132 };
const ICMPV6 = 58;
const ROUTER_ADVERT = 134;
const REDIRECT = 137;
const MAP_SIZE = 4096;
const LOOPBACK: Cidr = { family: 'ip', base: '127.0.0.0' as Address, prefix: 8 };

export const hostPortMap = (family: Family): string => `host-ports-${family}`;
export const hairpinSet = (family: Family): string => `own-host-ports-${family}`;

/** All of the table. Repeating it is harmless. `flags` are of NFTA_TABLE_FLAGS. */
export function tableMessages(state: TableState, flags: number): TableMessage[] {
  return [
    message(MSG.NEWTABLE, NLM_F.CREATE, to => {
      to.string(TABLE.NAME, POD_TABLE);
      if (flags !== 0) to.u32(TABLE.FLAGS, flags);
    }),
    ...FAMILIES.flatMap((family, index) => [
      setMessage(hostPortMap(family), 2 * index + 1, [NFT_TYPE.proto, NFT_TYPE.port], 8, family),
      setMessage(
        hairpinSet(family),
        2 * index + 2,
        [NFT_TYPE[family], NFT_TYPE[family]],
        2 * ADDRESS_SIZE[family],
      ),
    ]),
    ...chain('source', 'filter', 'prerouting', -300, [
      spoofed(),
      misleading(ROUTER_ADVERT),
      misleading(REDIRECT),
    ]),
    ...chain(
      'host-ports',
      'nat',
      'prerouting',
      -99,
      FAMILIES.map(family => toPod(family)),
    ),
    ...chain('own-host-ports', 'nat', 'output', -99, [
      rule([nfproto('ip'), ...within(LOOPBACK, 'destination'), verdict('return')], 'loopback stays here'),
      ...FAMILIES.map(family => toPod(family)),
    ]),
    ...chain('leaving', 'nat', 'postrouting', 100, leaving(state)),
  ];
}

/** The whole table goes. */
export function removalMessages(): TableMessage[] {
  return [message(MSG.DELTABLE, 0, to => to.string(TABLE.NAME, POD_TABLE))];
}

export interface PortElement {
  readonly protocol: Protocol;
  readonly hostPort: number;
  readonly podPort: number;
  readonly pod: Address;
  /** Whose it is, for `nft list`. */
  readonly comment: string;
}

export function addPort(element: PortElement): TableMessage[] {
  const family = familyOf(element.pod);
  const bytes = addressBytes(element.pod);
  return [
    elementMessage(MSG.NEWSETELEM, NLM_F.CREATE | NLM_F.EXCL, hostPortMap(family), portKey(element), to => {
      to.nest(ELEMENT.DATA, () => to.hex(DATA.VALUE, hex(bytes) + portHex(element.podPort)));
      writeComment(to, ELEMENT.USERDATA, UDATA.ELEMENT_COMMENT, element.comment);
    }),
    addHairpin(element.pod),
  ];
}

export function delPort(element: Omit<PortElement, 'comment' | 'podPort'>): TableMessage {
  return elementMessage(MSG.DELSETELEM, 0, hostPortMap(familyOf(element.pod)), portKey(element));
}

/** Also where somebody took it away already. */
export function delHairpin(pod: Address): TableMessage[] {
  return [addHairpin(pod), hairpin(MSG.DELSETELEM, 0, pod)];
}

function addHairpin(pod: Address): TableMessage {
  return hairpin(MSG.NEWSETELEM, NLM_F.CREATE, pod);
}

function hairpin(type: number, flags: number, pod: Address): TableMessage {
  const bytes = hex(addressBytes(pod));
  return elementMessage(type, flags, hairpinSet(familyOf(pod)), bytes + bytes);
}

function spoofed(): Write {
  return rule(
    [fromPod(), fib(FIB_OIF, FIB_SADDR_IIF), compare('eq', hostWord(0)), verdict('drop')],
    'not from an address of its own',
  );
}

function misleading(type: number): Write {
  return rule(
    [
      fromPod(),
      meta('l4proto'),
      compare('eq', byte(ICMPV6)),
      payload('transport', 0, 1),
      compare('eq', byte(type)),
      verdict('drop'),
    ],
    type === REDIRECT ? 'no redirects from pods' : 'no router advertisements from pods',
  );
}

function toPod(family: Family): Write {
  return rule([
    nfproto(family),
    fib(FIB_ADDRTYPE, FIB_DADDR),
    compare('eq', hostWord(RTN_LOCAL)),
    meta('l4proto'),
    payload('transport', 2, 2, REG + 1),
    to =>
      expr(to, 'lookup', () => {
        to.string(LOOKUP.SET, hostPortMap(family));
        to.u32(LOOKUP.SREG, REG);
        to.u32(LOOKUP.DREG, REG);
      }),
    to =>
      expr(to, 'nat', () => {
        to.u32(NFTA_NAT.TYPE, NFT_NAT_DNAT);
        to.u32(NFTA_NAT.FAMILY, NFPROTO[family]);
        to.u32(NFTA_NAT.REG_ADDR_MIN, REG);
        to.u32(NFTA_NAT.REG_PROTO_MIN, REG + ADDRESS_SIZE[family] / 4);
      }),
  ]);
}

function leaving({ podCidrs, clusterCidrs }: TableState): Write[] {
  const hairpins = FAMILIES.map(family =>
    rule([
      nfproto(family),
      payload('network', HEADER[family].source, ADDRESS_SIZE[family]),
      payload('network', HEADER[family].destination, ADDRESS_SIZE[family], REG + ADDRESS_SIZE[family] / 4),
      to =>
        expr(to, 'lookup', () => {
          to.string(LOOKUP.SET, hairpinSet(family));
          to.u32(LOOKUP.SREG, REG);
        }),
      masquerade,
    ]),
  );
  const inside = clusterCidrs.map(cidr =>
    rule([nfproto(cidr.family), ...within(cidr, 'destination'), verdict('return')], 'a pod'),
  );
  const toPods = rule(
    [meta('oifgroup'), compare('eq', hostWord(GROUP)), verdict('return')],
    'a pod of this node',
  );
  const out = podCidrs.map(cidr => rule([nfproto(cidr.family), ...within(cidr, 'source'), masquerade]));
  return [...hairpins, toPods, ...inside, ...out];
}

const masquerade: Write = to => expr(to, 'masq', () => {});

function chain(
  name: string,
  type: 'filter' | 'nat',
  hook: keyof typeof HOOK_NUMBER,
  priority: number,
  rules: readonly Write[],
): TableMessage[] {
  const place: Write = to => {
    to.string(RULE.TABLE, POD_TABLE);
    to.string(RULE.CHAIN, name);
  };
  return [
    message(MSG.NEWCHAIN, NLM_F.CREATE, to => {
      to.string(CHAIN.TABLE, POD_TABLE);
      to.string(CHAIN.NAME, name);
      to.nest(CHAIN.HOOK, () => {
        to.u32(HOOK.NUM, HOOK_NUMBER[hook]);
        to.u32(HOOK.PRIORITY, priority >>> 0);
      });
      to.u32(CHAIN.POLICY, CHAIN_POLICY.accept);
      to.string(CHAIN.TYPE, type);
    }),
    message(MSG.DELRULE, 0, place), // a rule that is not named: all of the chain
    ...rules.map(write =>
      message(MSG.NEWRULE, NLM_F.CREATE | NLM_F.APPEND, to => {
        place(to);
        write(to);
      }),
    ),
  ];
}

function setMessage(
  name: string,
  id: number,
  types: readonly number[],
  keyLength: number,
  mapTo?: Family,
): TableMessage {
  return message(MSG.NEWSET, NLM_F.CREATE, to => {
    to.string(SET.TABLE, POD_TABLE);
    to.string(SET.NAME, name);
    to.u32(SET.FLAGS, mapTo === undefined ? 0 : SET_F.MAP);
    to.u32(SET.KEY_TYPE, concatenation(types));
    to.u32(SET.KEY_LEN, keyLength);
    if (mapTo !== undefined) {
      to.u32(NFTA_SET_DATA_TYPE, concatenation([NFT_TYPE[mapTo], NFT_TYPE.port]));
      to.u32(NFTA_SET_DATA_LEN, ADDRESS_SIZE[mapTo] + 4);
    }
    to.nest(SET.DESC, () => to.u32(SET_DESC_SIZE, MAP_SIZE));
    to.u32(SET.ID, id);
  });
}

function elementMessage(type: number, flags: number, set: string, key: string, more?: Write): TableMessage {
  return message(type, flags, to => {
    to.string(ELEMENTS.TABLE, POD_TABLE);
    to.string(ELEMENTS.SET, set);
    to.nest(ELEMENTS.ELEMENTS, () =>
      to.nest(LIST_ELEM, () => {
        to.nest(ELEMENT.KEY, () => to.hex(DATA.VALUE, key));
        more?.(to);
      }),
    );
  });
}

function message(type: number, flags: number, write: Write): TableMessage {
  return { type, flags, write };
}

function rule(expressions: readonly Write[], comment?: string): Write {
  return to => {
    to.nest(RULE.EXPRESSIONS, () => {
      for (const write of expressions) write(to);
    });
    if (comment !== undefined) writeComment(to, RULE.USERDATA, UDATA.RULE_COMMENT, comment);
  };
}

function expr(to: AttributeWriter, name: string, data: () => void): void {
  to.nest(LIST_ELEM, () => {
    to.string(EXPR.NAME, name);
    to.nest(EXPR.DATA, data);
  });
}

function meta(key: keyof typeof META_KEY): Write {
  return to =>
    expr(to, 'meta', () => {
      to.u32(META.DREG, REG);
      to.u32(META.KEY, META_KEY[key]);
    });
}

function fromPod(): Write {
  return to => {
    meta('iifgroup')(to);
    compare('eq', hostWord(GROUP))(to);
  };
}

function nfproto(family: Family): Write {
  return to => {
    meta('nfproto')(to);
    compare('eq', byte(NFPROTO[family]))(to);
  };
}

function fib(result: number, flags: number): Write {
  return to =>
    expr(to, 'fib', () => {
      to.u32(NFTA_FIB.DREG, REG);
      to.u32(NFTA_FIB.RESULT, result);
      to.u32(NFTA_FIB.FLAGS, flags);
    });
}

function payload(base: 'network' | 'transport', offset: number, length: number, dreg = REG): Write {
  return to =>
    expr(to, 'payload', () => {
      to.u32(PAYLOAD.DREG, dreg);
      to.u32(PAYLOAD.BASE, base === 'network' ? 1 : 2);
      to.u32(PAYLOAD.OFFSET, offset);
      to.u32(PAYLOAD.LEN, length);
    });
}

/** Whether an end of the packet lies in a network. */
function within({ family, base, prefix }: Cidr, end: 'source' | 'destination'): Write[] {
  const size = ADDRESS_SIZE[family];
  const mask = [...Array(size).keys()].map(
    at => 0xff & (0xff00 >> Math.min(8, Math.max(0, prefix - 8 * at))),
  );
  return [
    payload('network', HEADER[family][end], size),
    to =>
      expr(to, 'bitwise', () => {
        to.u32(BITWISE.SREG, REG);
        to.u32(BITWISE.DREG, REG);
        to.u32(BITWISE.LEN, size);
        to.nest(BITWISE.MASK, () => to.hex(DATA.VALUE, hex(mask)));
        to.nest(BITWISE.XOR, () => to.hex(DATA.VALUE, '00'.repeat(size)));
      }),
    compare('eq', hex(addressBytes(base))),
  ];
}

function compare(op: 'eq', data: string): Write {
  return to =>
    expr(to, 'cmp', () => {
      to.u32(CMP.SREG, REG);
      to.u32(CMP.OP, op === 'eq' ? 0 : 1);
      to.nest(CMP.DATA, () => to.hex(DATA.VALUE, data));
    });
}

function verdict(kind: 'drop' | 'return'): Write {
  return to =>
    expr(to, 'immediate', () => {
      to.u32(IMMEDIATE.DREG, REG_VERDICT);
      writeVerdict(to, IMMEDIATE.DATA, { kind });
    });
}

function concatenation(types: readonly number[]): number {
  return types.reduce((all, type) => (all << 6) | type, 0);
}

function portKey({ protocol, hostPort }: Pick<PortElement, 'protocol' | 'hostPort'>): string {
  return `${byte(PROTOCOL_NUMBER[protocol])}000000${portHex(hostPort)}`;
}

/** In a concatenation every field fills words. */
function portHex(port: number): string {
  return `${port.toString(16).padStart(4, '0')}0000`;
}

function byte(value: number): string {
  return value.toString(16).padStart(2, '0');
}

/** meta and fib answer in the order of the machine, which is little-endian. */
function hostWord(value: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes.toString('hex');
}

function hex(bytes: ArrayLike<number>): string {
  return Buffer.from(bytes as Uint8Array).toString('hex');
}
