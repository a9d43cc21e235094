/** Reports to the author of a policy, by an Event, that the kernel refuses its rules. */

import type { Observer } from '../../agent/observer.ts';
import type { EventSpec } from '../../inputs/kube/report/event.ts';
import type { QuarantinedPolicy } from '../../model/policystatus.ts';
import { quarantineProblem } from '../../model/policystatus.ts';
import { problemNote } from '../../model/problem.ts';

/** One Event when a policy comes into quarantine, or is refused for another reason. */
export function quarantineReporter(report: (spec: EventSpec) => void): Pick<Observer, 'quarantined'> {
  let reported: ReadonlySet<string> = new Set();
  return {
    quarantined: policies => {
      const byText = new Map(policies.map(policy => [JSON.stringify(policy), policy]));
      for (const [text, policy] of byText) if (!reported.has(text)) report(specOf(policy));
      reported = new Set(byText.keys());
    },
  };
}

function specOf(policy: QuarantinedPolicy): EventSpec {
  const problem = quarantineProblem(policy);
  return { about: problem.about!, type: 'Warning', reason: 'PolicyRefused', note: problemNote(problem) };
}
