import { address } from '../lab/topology.ts';

/** Two hosts on the internet that accept mail; DNS answers with the first. */
export const MAIL_HOSTS = [address('198.51.100.25'), address('198.51.100.26')] as const;
