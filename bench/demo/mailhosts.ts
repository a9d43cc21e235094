import { address } from '../lab/topology.ts';

/** Two hosts of the internet that take mail: DNS tells the first. */
export const MAIL_HOSTS = [address('198.51.100.25'), address('198.51.100.26')] as const;
