/** Whether the author of a policy wants it to be in force, or only to be shown what it would do. */
import { describe, type Field } from './fields.ts';

export const ENFORCEMENT = 'sluice.dev/enforcement';

/** Whatever is not plainly `audit` is enforced: a mistyped word must never open traffic. */
export function readEnforcement(object: Field): { readonly audited?: true } {
  const annotation = object.get('metadata').get('annotations').get(ENFORCEMENT);
  if (annotation.value === 'audit') return { audited: true };
  if (annotation.isPresent && annotation.value !== 'enforce')
    annotation.warning(
      `must be audit or enforce, not ${describe(annotation.value)}`,
      'the policy is enforced',
    );
  return {};
}
