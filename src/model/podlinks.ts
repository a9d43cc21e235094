/** Who connects the pods of a node with it: this agent, or another network plugin. */
export type PodLinks = 'ours' | 'others';

/** IFLA_GROUP of the node's end of the links that this agent makes: `ip link show group 29548`. */
export const LINK_GROUP = 0x736c;
