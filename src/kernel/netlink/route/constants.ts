/** Numbers of `linux/rtnetlink.h`, `linux/if_link.h`, `linux/if_addr.h` and `linux/neighbour.h`, by their own names. */

export const NETLINK_ROUTE = 0;

/** RTM_*. */
export const RTM = {
  NEWLINK: 16,
  DELLINK: 17,
  GETLINK: 18,
  NEWADDR: 20,
  GETADDR: 22,
  NEWROUTE: 24,
  DELROUTE: 25,
  GETROUTE: 26,
  NEWNEIGH: 28,
} as const;

/** RTMGRP_*: groups of notices, a bit each. */
export const RTMGRP = {
  LINK: 0x1,
  IPV4_IFADDR: 0x10,
  IPV4_ROUTE: 0x40,
  IPV4_RULE: 0x80,
  IPV6_IFADDR: 0x100,
  IPV6_ROUTE: 0x400,
  IPV6_RULE: 0x40000,
} as const;

export const IFLA = {
  ADDRESS: 1,
  IFNAME: 3,
  MTU: 4,
  LINK: 5,
  MASTER: 10,
  LINKINFO: 18,
  IFALIAS: 20,
  AF_SPEC: 26,
  GROUP: 27,
  NET_NS_FD: 28,
  EXT_MASK: 29,
  LINK_NETNSID: 37,
  TARGET_NETNSID: 46,
} as const;
export const IFLA_INFO = { KIND: 1, DATA: 2 } as const;
export const VETH_INFO_PEER = 1;
/** IFLA_BR_GROUP_FWD_MASK: which of the addresses 01:80:c2:00:00:0X a bridge forwards like any other. */
export const BRIDGE_INFO_GROUP_FORWARD = 9;
/** IFLA_VXLAN_PORT, IFLA_GENEVE_PORT, IFLA_BAREUDP_PORT: of UDP, big-endian, to which the tunnel listens. */
export const TUNNEL_INFO_PORT: Readonly<Record<string, number>> = { vxlan: 15, geneve: 5, bareudp: 1 };
/** IFLA_IPTUN_ENCAP_* and IFLA_GRE_ENCAP_*: what the tunnel's own packets are wrapped in. */
export const IPTUN_INFO_ENCAP = { TYPE: 15, DPORT: 18 } as const;
export const GRE_INFO_ENCAP = { TYPE: 14, DPORT: 17 } as const;
export const TUNNEL_ENCAP_NONE = 0;
export const IPPROTO = { IPIP: 4, IPV6: 41, GRE: 47 } as const;
export const IFLA_INET6_ADDR_GEN_MODE = 8;
export const IN6_ADDR_GEN_MODE_NONE = 1;
export const RTEXT_FILTER_SKIP_STATS = 8;
export const IFF_UP = 1;
export const IFF_RUNNING = 0x40;
export const IFA = { ADDRESS: 1, LOCAL: 2, BROADCAST: 4, TARGET_NETNSID: 10 } as const;
export const IFA_F_NODAD = 2;
export const RTA = { DST: 1, OIF: 4, GATEWAY: 5, PRIORITY: 6, PREFSRC: 7, TABLE: 15 } as const;
export const NDA = { DST: 1, LLADDR: 2 } as const;
export const NUD_PERMANENT = 0x80;
/** rtm_table, rtm_type, rtm_scope, rtm_flags. */
export const RT_TABLE_MAIN = 254;
export const RTN = { UNICAST: 1, LOCAL: 2, UNREACHABLE: 7 } as const;
export const RT_SCOPE = { UNIVERSE: 0, LINK: 253 } as const;
export const RTNH_F_ONLINK = 4;
