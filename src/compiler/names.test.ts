import { expect, test } from 'vitest';
import { clip, commentOf, Names } from './names.ts';

test('Names gives a definition the same name whenever it is asked', () => {
  expect(new Names().of('in', 'a', 'shop/web')).toBe(new Names().of('in', 'a', 'shop/web'));
  expect(new Names().of('in', 'a', 'shop/web')).toMatch(/^in-[0-9A-HJKMNP-TV-Z]{8}-shop\/web$/);
});

test('Names never gives one name to two definitions, though their short hashes collide', () => {
  const [a, b] = COLLISION;
  const names = new Names();
  const [nameOfA, nameOfB] = [names.of('peers', a), names.of('peers', b)];
  expect(nameOfA).not.toBe(nameOfB);
  expect(nameOfB.slice(0, nameOfA.length)).toBe(nameOfA);
  expect(names.of('peers', b)).toBe(nameOfB);
  expect(names.collided).toBe(true);
});

test('Names forgets what is not in use, once there is much of it', () => {
  const names = new Names();
  const [a, b] = COLLISION;
  names.of('peers', a);
  for (let i = 0; i < 2000; i++) names.of('peers', `other ${i}`);
  names.retainOnly([]);
  names.of('peers', b);
  expect(names.collided).toBe(false);
});

test('Names writes an identifier that nft can read', () => {
  expect(new Names().of('in', 'x', 'cnp:a b"c')).toMatch(/^in-\w{8}-cnp_a_b_c$/);
});

test('commentOf() names as many sources as fit, each once, and counts the others', () => {
  expect(commentOf(['shop/a ingress[0]', 'shop/b ingress[0]', 'shop/a ingress[0]'])).toBe(
    'shop/a ingress[0], shop/b ingress[0]',
  );
  const many = commentOf(Array.from({ length: 70_000 }, (_, i) => `shop/policy-${i} ingress[0]`));
  expect(many).toMatch(/^shop\/policy-0 ingress\[0\], shop\/policy-1 ingress\[0\],.* and \d+ more$/);
  expect(many.length).toBeLessThanOrEqual(120);
  expect(commentOf(['x'.repeat(500)])).toHaveLength(120);
  expect(commentOf(['x'.repeat(500), 'y']).length).toBeLessThanOrEqual(120);
});

test('clip() leaves nothing that would end a comment', () => {
  expect(clip('a"b\nc\u00e9')).toBe('a_b_c_');
});

/** Two texts whose hashes begin with the same 40 bits: found by a search over the first two million. */
const COLLISION = ['definition 1827948', 'definition 1828899'] as const;
