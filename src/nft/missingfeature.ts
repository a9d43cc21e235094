/** A feature of newer kernels that this one lacks. It is detected at the start, and replaced by something else. */
export interface MissingFeature {
  /** The missing feature, by its name in the kernel's headers. */
  readonly lacks: string;
  /** The first version of Linux with the feature. */
  readonly since: string;
  /** What is done instead, and what that costs. */
  readonly instead: string;
  /** Whether pods or people notice the difference by more than speed. */
  readonly matters: boolean;
}

export const NO_OWNERS: MissingFeature = {
  lacks: 'tables whose owner may end (NFT_TABLE_F_PERSIST)',
  since: '6.9',
  instead:
    "anybody may change Sluice's tables (nft flush ruleset takes them away); a change is found within 0.1 to 5 s and put right",
  matters: true,
};

export const NO_ACK_AT_END: MissingFeature = {
  lacks: 'an acknowledgement of the end of a batch (NLM_F_ACK on NFNL_MSG_BATCH_END)',
  since: '6.10',
  instead: 'the last change of a batch is acknowledged',
  matters: false,
};

export const NO_BRIDGE_TABLES: MissingFeature = {
  lacks: 'tables of bridges (CONFIG_NF_TABLES_BRIDGE)',
  since: '3.13',
  instead:
    'pods that share a bridge are not kept from sending as one another, nor from frames with a VLAN tag',
  matters: true,
};

export const NO_LOGS: MissingFeature = {
  lacks: 'packets handed over to be named (CONFIG_NFT_LOG, CONFIG_NFT_LIMIT, CONFIG_NETFILTER_NETLINK_LOG)',
  since: '3.14',
  instead: 'denied connections are counted, and not named: sluice drops shows none',
  matters: true,
};

export const NO_LAST: MissingFeature = {
  lacks: 'when a rule was met last (the expression "last", NFTA_LAST_MSECS)',
  since: '5.14',
  instead: 'with --count-rules, sluice inspect shows how often rules have matched, and not when',
  matters: false,
};

export const NO_CONNECTION_FILTER: MissingFeature = {
  lacks: 'a choice of connections by address (CTA_FILTER)',
  since: '5.8',
  instead: 'all connections are read where those of a few addresses are wanted',
  matters: false,
};
