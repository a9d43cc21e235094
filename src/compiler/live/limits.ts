/** How much a flush does, and what waits for others. */

import type { DenialLimits } from '../denied.ts';
import { SET_QUOTA, type SetQuota } from './groups/setquota.ts';
import { MOST_ASKED } from './pods/livepods.ts';
import { POD_PATIENCE, type PodPatience } from './preparations/podpreparations.ts';
import { MOST_AT_ONCE } from './preparations/policypreparations.ts';

export interface Limits {
  /** How many pods it may ask about groups for what can wait. */
  readonly mostAsked: number;
  /** What its sets may have. */
  readonly room: SetQuota;
  readonly patience: PodPatience;
  /** Of how many entries a namespace is oversized (policypreparations.ts). */
  readonly mostEntries: number;
  /** What is prepared is in the tables before it is in force (preparedclasses.ts). */
  readonly goesAhead: boolean;
  /** The rates at which the rules report denied packets; undefined where they report none. */
  readonly denials?: DenialLimits | undefined;
}

export const LIMITS: Limits = {
  mostAsked: MOST_ASKED,
  room: SET_QUOTA,
  patience: POD_PATIENCE,
  mostEntries: MOST_AT_ONCE,
  goesAhead: true,
};
