import type { PortMatch } from '../../../model/policy.ts';
import type { Field } from './fields.ts';

/** C27: the cluster kinds name a port without a protocol. A name that no container has matches nothing (C28). */
export function readNamedPort(field: Field): PortMatch {
  const name = field.text() ?? '';
  if (name === '') field.error('must not be empty');
  return { kind: 'named', name };
}
