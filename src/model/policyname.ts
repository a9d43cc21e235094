/** Policies by the names that commands print of them. */
import { POLICY_KINDS, type PolicyId, policyLabel } from './policy.ts';

/** `NetworkPolicy shop/web`, its label (`shop/web`, `cnp:platform`), or the bare name of a cluster policy. */
export function isCalled(id: PolicyId, asked: string): boolean {
  return [id, labelOf(id), bareName(id)].includes(asked);
}

/** Whether a person may mean this policy: like `isCalled`, and also the bare name in any namespace (`web`). */
export function isCalledAnywhere(id: PolicyId, asked: string): boolean {
  return isCalled(id, asked) || bareName(id).endsWith(`/${asked}`);
}

/** The label in the kernel's comments. A text that is not an id is returned as it is. */
export function labelOf(text: string): string {
  const kind = POLICY_KINDS.find(each => text.startsWith(`${each} `));
  return kind === undefined ? text : policyLabel({ kind, name: bareName(text) });
}

function bareName(id: string): string {
  return id.slice(id.indexOf(' ') + 1);
}
