import { expect, test } from 'vitest';
import { requireInterfaceName } from './request.ts';

test.each(['eth0', 'e', 'fifteen-letters', 'a.b', '...', 'net1@x', 'bond_0'])(
  'requireInterfaceName() takes %s',
  name => expect(requireInterfaceName(name)).toBe(name),
);

// Names that the kernel refuses (dev_valid_name(), the folders of its sysctls), and names that it treats as another
// name.
test.each([
  'eth%d',
  '%d',
  'eth%',
  'a/b',
  'a:b',
  'a b',
  'a\tb',
  'a\u00a0b',
  'a\0b',
  '.',
  '..',
  '',
  'sixteen-letters!',
  'äääääääääää',
  'lo',
  'all',
  'default',
])('requireInterfaceName() refuses %j and names the field', name => {
  expect(() => requireInterfaceName(name)).toThrow(`interface "${name}" is `);
});
