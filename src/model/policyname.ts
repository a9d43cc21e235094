/** Policies as people name them: by what any command prints of them. */
import { POLICY_KINDS, type PolicyId, policyLabel } from './policy.ts';

/** `NetworkPolicy shop/web`, its label (`shop/web`, `cnp:platform`) or the bare name of a policy of the cluster. */
export function isCalled(id: PolicyId, asked: string): boolean {
  return [id, labelOf(id), bareName(id)].includes(asked);
}

/** The same in any namespace: `web` too. */
export function isCalledAnywhere(id: PolicyId, asked: string): boolean {
  return isCalled(id, asked) || bareName(id).endsWith(`/${asked}`);
}

/** As the kernel's comments have it; a text that is no id is a label already. */
export function labelOf(text: string): string {
  const kind = POLICY_KINDS.find(each => text.startsWith(`${each} `));
  return kind === undefined ? text : policyLabel({ kind, name: bareName(text) });
}

function bareName(id: string): string {
  return id.slice(id.indexOf(' ') + 1);
}
