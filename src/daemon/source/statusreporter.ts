/** Reports to the author of a policy, by an Event, what has become of it on this node. */

import type { Observer } from '../../agent/observer.ts';
import type { EventSpec } from '../../inputs/kube/report/event.ts';
import {
  isQuarantined,
  type LastingStatus,
  quarantineProblem,
  referenceTo,
  statusReason,
} from '../../model/policystatus.ts';
import { problemNote } from '../../model/problem.ts';

/**
 * One Event when a policy comes into quarantine, or is refused for another reason, and one when it is closed because nodes
 * are not read. The source itself reports policies that are over-budget or uncertain, beside their other problems, and
 * `Audits` those that are audited; a namespace that ends takes no Events about its policies any more.
 */
export function statusReporter(report: (spec: EventSpec) => void): Pick<Observer, 'policyStatuses'> {
  let reported: ReadonlySet<string> = new Set();
  return {
    policyStatuses: statuses => {
      const now = new Set<string>();
      for (const status of statuses) {
        if (!isQuarantined(status) && status.kind !== 'closed') continue;
        const text = JSON.stringify(status);
        if (!reported.has(text) && !now.has(text)) report(specOf(status));
        now.add(text);
      }
      reported = now;
    },
  };
}

function specOf(status: LastingStatus): EventSpec {
  const spec = { about: referenceTo(status.id), type: 'Warning' } as const;
  return isQuarantined(status)
    ? { ...spec, reason: 'PolicyRefused', note: problemNote(quarantineProblem(status)) }
    : { ...spec, reason: 'PolicyClosed', note: statusReason(status) };
}
