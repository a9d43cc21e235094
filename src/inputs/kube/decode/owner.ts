import type { Controller } from '../../../model/workload.ts';
import { asMap } from '../report/identity.ts';

/** The one of its ownerReferences that controls the object; taken without a check, for it decides nothing. */
export function controllerOf(object: unknown): Controller | undefined {
  const { ownerReferences } = asMap(asMap(object).metadata);
  if (!Array.isArray(ownerReferences)) return undefined;
  const { kind, name } = asMap(ownerReferences.map(asMap).find(({ controller }) => controller === true));
  return typeof kind === 'string' && typeof name === 'string' ? { kind, name } : undefined;
}
