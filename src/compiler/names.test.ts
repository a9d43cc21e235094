import { expect, test } from 'vitest';
import { clip, commentOf, hashedName } from './names.ts';

test('hashedName() gives equal definitions equal names', () => {
  expect(hashedName('in', 'a', 'shop/web')).toBe(hashedName('in', 'a', 'shop/web'));
  expect(hashedName('in', 'a', 'shop/web')).toMatch(/^in-[0-9A-HJKMNP-TV-Z]{26}-shop\/web$/);
});

test('nameOf() has more of the hash than anybody can search for a pair of', () => {
  const [a, b] = PAIR;
  const [nameOfA, nameOfB] = [hashedName('peers', a), hashedName('peers', b)];
  expect(nameOfA.slice(0, 'peers-'.length + 8)).toBe(nameOfB.slice(0, 'peers-'.length + 8));
  expect(nameOfA).not.toBe(nameOfB);
});

test('nameOf() writes an identifier that nft can read, and the kernel takes', () => {
  expect(hashedName('in', 'x', 'cnp:a b"c')).toMatch(/^in-\w{26}-cnp_a_b_c$/);
  expect(hashedName('in', 'x', 'x'.repeat(1000)).length).toBeLessThan(128);
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

test.each(['ingress[0]', 'egress[123]', 'ingress[7] a rule that has a name ingress[8]'])(
  'commentOf() names the rule of a policy whose name is too long: %s',
  rule => {
    const name = `${'n'.repeat(63)}/${'p'.repeat(253)}`;
    const [path] = rule.split(' ');
    for (const others of [[], ['shop/web ingress[0]'], Array.from({ length: 2000 }, (_, i) => `shop/${i}`)]) {
      const comment = commentOf([`${name} ${rule}`, ...others]);
      expect(comment).toMatch(/^n{63}\/p+ /);
      expect(comment.split(' ')[1]).toBe(path);
      expect(comment).toHaveLength(120);
    }
  },
);

test('clip() leaves nothing that would end a comment', () => {
  expect(clip('a"b\nc\u00e9')).toBe('a_b_c_');
});

/** Two texts whose hashes begin with the same 40 bits: found by a search over the first two million. */
const PAIR = ['definition 1827948', 'definition 1828899'] as const;
