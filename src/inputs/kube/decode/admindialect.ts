import { type PortMatch, PROTOCOLS } from '../../../model/policy.ts';
import type { Dialect } from './clusterpolicy.ts';
import type { Field } from './fields.ts';
import { readNamedPort } from './namedport.ts';

/** What AdminNetworkPolicy and BaselineAdminNetworkPolicy have in common. */
export const ADMIN_DIALECT: Pick<Dialect, 'portsKey' | 'readPort' | 'needsNamespaceSelector' | 'most'> = {
  portsKey: 'ports',
  readPort,
  needsNamespaceSelector: true,
  most: 100,
};

/** C26, C27. */
function readPort(field: Field): PortMatch {
  const key = field.onlyKey(['portNumber', 'portRange', 'namedPort']);
  if (key === undefined) return { kind: 'protocol', protocol: 'TCP' };
  const part = field.get(key);
  switch (key) {
    case 'namedPort':
      return readNamedPort(part);
    case 'portNumber':
      return readPortNumber(part);
    case 'portRange':
      return readPortRange(part);
  }
}

function readPortNumber(part: Field): PortMatch {
  part.expectMap(['protocol', 'port']);
  const port = part.get('port').requiredInteger(1, 65535) ?? 0;
  return { kind: 'range', protocol: part.get('protocol').oneOf(PROTOCOLS) ?? 'TCP', first: port, last: port };
}

/** The CRD does not compare the two ends. */
function readPortRange(part: Field): PortMatch {
  part.expectMap(['protocol', 'start', 'end']);
  const first = part.get('start').requiredInteger(1, 65535) ?? 0;
  const last = part.get('end').requiredInteger(1, 65535) ?? 0;
  if (first > last) part.warning(`starts at ${first}, after its end ${last}`, 'the range matches nothing');
  return { kind: 'range', protocol: part.get('protocol').oneOf(PROTOCOLS) ?? 'TCP', first, last };
}
