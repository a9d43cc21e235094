import type { Field } from './fields.ts';

/** C11: lower is earlier; both ends of 0..1000 are valid. */
export function readPriority(spec: Field): number {
  return spec.get('priority').requiredInteger(0, 1000) ?? 0;
}
