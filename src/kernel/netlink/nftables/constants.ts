/** Numbers of `linux/netfilter/nfnetlink.h` and `linux/netfilter/nf_tables.h`, by their own names. */
import type { TableFamily } from '../../../nft/ruleset.ts';

export const NETLINK_NETFILTER = 12;
const NFNL_SUBSYS_NFTABLES = 10;

export const NFNL_BATCH_GENID = 1;

const subsystem = <const T extends Record<string, number>>(types: T): T =>
  Object.fromEntries(
    Object.entries(types).map(([name, type]) => [name, (NFNL_SUBSYS_NFTABLES << 8) | type]),
  ) as T;

/** NFT_MSG_*, with the subsystem in the upper byte. */
export const MSG = subsystem({
  NEWTABLE: 0,
  GETTABLE: 1,
  DELTABLE: 2,
  NEWCHAIN: 3,
  GETCHAIN: 4,
  DELCHAIN: 5,
  NEWRULE: 6,
  GETRULE: 7,
  DELRULE: 8,
  NEWSET: 9,
  GETSET: 10,
  DELSET: 11,
  NEWSETELEM: 12,
  GETSETELEM: 13,
  DELSETELEM: 14,
  NEWGEN: 15,
  GETGEN: 16,
  GETFLOWTABLE: 23,
});

/** nfgen_family: NFPROTO_IPV4, NFPROTO_IPV6, NFPROTO_BRIDGE. */
export const NFPROTO: Readonly<Record<TableFamily, number>> = { ip: 2, ip6: 10, bridge: 7 };

/** Tables of both families at once: none of ours is one. */
const NFPROTO_INET = 1;
/** Families that no table of this layout has: NFPROTO_ARP, NFPROTO_NETDEV. */
const OTHERS = { inet: NFPROTO_INET, arp: 3, netdev: 5 } as const;
export type OtherFamily = keyof typeof OTHERS;
export const OTHER_FAMILIES = Object.keys(OTHERS) as OtherFamily[];
export const ANY_NFPROTO: Readonly<Record<TableFamily | OtherFamily, number>> = { ...NFPROTO, ...OTHERS };

export const TABLE = { NAME: 1, FLAGS: 2, OWNER: 7 } as const;
/**
 * DORMANT: its base chains are called by no hook. OWNER: only the socket that made the table may change it. PERSIST
 * (6.9): it outlives the socket, without an owner.
 */
export const TABLE_F = { DORMANT: 1, OWNER: 2, PERSIST: 4 } as const;

export const CHAIN = { TABLE: 1, NAME: 3, HOOK: 4, POLICY: 5, TYPE: 7, FLAGS: 10 } as const;
export const CHAIN_F_BINDING = 4;
export const HOOK = { NUM: 1, PRIORITY: 2 } as const;
/** NF_INET_*. */
export const HOOK_NUMBER = { prerouting: 0, input: 1, forward: 2, output: 3, postrouting: 4 } as const;
/** NF_DROP, NF_ACCEPT. */
export const CHAIN_POLICY = { drop: 0, accept: 1 } as const;

export const RULE = { TABLE: 1, CHAIN: 2, HANDLE: 3, EXPRESSIONS: 4, USERDATA: 7 } as const;

export const SET = {
  TABLE: 1,
  NAME: 2,
  FLAGS: 3,
  KEY_TYPE: 4,
  KEY_LEN: 5,
  DATA_TYPE: 6,
  DATA_LEN: 7,
  DESC: 9,
  ID: 10,
  TIMEOUT: 11,
  USERDATA: 13,
} as const;
/** EVAL: packets may change it, which nft calls dynamic. */
export const SET_F = { ANONYMOUS: 1, CONSTANT: 2, INTERVAL: 4, MAP: 8, TIMEOUT: 16, EVAL: 32 } as const;
export const SET_DESC_SIZE = 1;

export const LIST_ELEM = 1;
export const ELEMENTS = { TABLE: 1, SET: 2, ELEMENTS: 3 } as const;
export const ELEMENT = { KEY: 1, DATA: 2, FLAGS: 3, EXPIRATION: 5, USERDATA: 6 } as const;
export const ELEMENT_F = { INTERVAL_END: 1, CATCHALL: 2 } as const;
/** The key text of the catch-all element, as nft prints it. Our sets have none. */
export const CATCHALL = '*';

/** NFTA_SET_DATA_TYPE of a verdict map. */
export const DATA_VERDICT_TYPE = 0xffffff00;
export const DATA = { VALUE: 1, VERDICT: 2 } as const;
export const VERDICT = { CODE: 1, CHAIN: 2 } as const;
/** NF_DROP, NF_ACCEPT, NFT_JUMP, NFT_GOTO, NFT_RETURN as u32. */
export const VERDICT_CODE = {
  drop: 0,
  accept: 1,
  jump: 0xfffffffd,
  goto: 0xfffffffc,
  return: 0xfffffffb,
} as const;

export const EXPR = { NAME: 1, DATA: 2 } as const;
export const META = { DREG: 1, KEY: 2 } as const;
export const CT = { DREG: 1, KEY: 2, DIRECTION: 3 } as const;
export const PAYLOAD = { DREG: 1, BASE: 2, OFFSET: 3, LEN: 4 } as const;
export const BITWISE = { SREG: 1, DREG: 2, LEN: 3, MASK: 4, XOR: 5, OP: 6 } as const;
export const CMP = { SREG: 1, OP: 2, DATA: 3 } as const;
export const LOOKUP = { SET: 1, SREG: 2, DREG: 3, FLAGS: 5 } as const;
export const LOOKUP_F_INV = 1;
export const FIB = { DREG: 1, RESULT: 2, FLAGS: 3 } as const;
/** NFTA_FIB_F_PRESENT. */
export const FIB_F_PRESENT = 32;
export const EXTHDR = { DREG: 1, TYPE: 2, OFFSET: 3, LEN: 4, FLAGS: 5, OP: 6 } as const;
/** NFT_EXTHDR_F_PRESENT. */
export const EXTHDR_F_PRESENT = 1;
export const NAT = {
  TYPE: 1,
  FAMILY: 2,
  REG_ADDR_MIN: 3,
  REG_ADDR_MAX: 4,
  REG_PROTO_MIN: 5,
  REG_PROTO_MAX: 6,
  FLAGS: 7,
} as const;
/** NFT_NAT_DNAT. */
export const NAT_TYPE_DNAT = 1;
/**
 * NF_NAT_RANGE_MAP_IPS, NF_NAT_RANGE_PROTO_SPECIFIED: flags that the kernel adds by itself, for an address and a port.
 */
export const NAT_RANGE_PLAIN = 3;

export const DYNSET = { SET_NAME: 1, OP: 3, SREG_KEY: 4, TIMEOUT: 6, EXPR: 7 } as const;
export const LIMIT = { RATE: 1, UNIT: 2, BURST: 3, TYPE: 4, FLAGS: 5 } as const;
export const LOG = { GROUP: 1, PREFIX: 2, SNAPLEN: 3 } as const;
export const COUNTER = { BYTES: 1, PACKETS: 2 } as const;
export const LAST = { SET: 1, MSECS: 2 } as const;
export const QUEUE = { NUM: 1, TOTAL: 2, FLAGS: 3 } as const;
/** NFT_QUEUE_FLAG_BYPASS, NFQ_FLAG_BYPASS: the packet is accepted if no process reads the queue. */
export const QUEUE_BYPASS = 1;
/** `linux/netfilter/nf_tables_compat.h`. */
export const TARGET = { NAME: 1, REV: 2, INFO: 3 } as const;

export const IMMEDIATE = { DREG: 1, DATA: 2 } as const;

export const REG_VERDICT = 0;
export const REG32_00 = 8;

export const GEN_ID = 1;

/** `libnftnl/udata.h`: the types in NFTA_*_USERDATA, which is a list of type, length, value. */
export const UDATA = {
  RULE_COMMENT: 0,
  ELEMENT_COMMENT: 0,
  SET_KEY_ORDER: 0,
  SET_DATA_ORDER: 1,
  SET_COMMENT: 7,
} as const;
/** nft's BYTEORDER_HOST_ENDIAN, as a 32-bit word in host order. */
export const HOST_ORDER = Uint8Array.of(1, 0, 0, 0);
