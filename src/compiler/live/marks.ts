/** What events have touched since the last flush. */
import type { PodKey } from '../../model/cluster.ts';
import type { PolicyId } from '../../model/policy.ts';

export function emptyMarks() {
  return {
    pod: new Set<PodKey>(),
    namespace: new Set<string>(),
    node: new Set<string>(),
    policy: new Set<PolicyId>(),
    hostPort: new Set<string>(),
  };
}

export type Marks = Readonly<ReturnType<typeof emptyMarks>>;

export function isNothing(marks: Marks): boolean {
  return Object.values(marks).every(({ size }) => size === 0);
}
