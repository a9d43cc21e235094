import type { Protocol } from '../../model/policy.ts';

export const PROTOCOLS: readonly Protocol[] = ['TCP', 'UDP', 'SCTP'];
