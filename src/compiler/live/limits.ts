/** Limits of one flush, and of the sets and reports of denied packets. */

import type { DenialLimits } from '../denied.ts';
import { SET_QUOTA, type SetQuota } from './groups/setquota.ts';
import { MOST_LOOKUPS } from './pods/livepods.ts';
import { POD_PATIENCE, type PodPatience } from './preparations/podpreparations.ts';
import { MOST_AT_ONCE } from './preparations/policypreparations.ts';

export interface Limits {
  /** How many look-ups of a pod in a group a flush may do for changes that can wait. */
  readonly mostLookups: number;
  /** How many members the sets may have. */
  readonly room: SetQuota;
  readonly patience: PodPatience;
  /** A namespace with more entries than this is oversized (policypreparations.ts). */
  readonly mostEntries: number;
  /** Chains and sets that are prepared are added to the tables before any packet reaches them (preparedclasses.ts). */
  readonly stagesPrepared: boolean;
  /** The rates at which the rules report denied packets; undefined where they report none. */
  readonly denials?: DenialLimits | undefined;
}

export const LIMITS: Limits = {
  mostLookups: MOST_LOOKUPS,
  room: SET_QUOTA,
  patience: POD_PATIENCE,
  mostEntries: MOST_AT_ONCE,
  stagesPrepared: true,
};
