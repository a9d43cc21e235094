import { expect, it } from 'vitest';
import { DomainNameIndex, matchesDomainName } from './domainname.ts';

// The examples of NPEP-133.
const CASES: [pattern: string, name: string, matches: boolean][] = [
  ['kubernetes.io', 'kubernetes.io', true],
  ['kubernetes.io', 'blog.kubernetes.io', false],
  ['kubernetes.io', 'my-kubernetes.io', false],
  ['*.kubernetes.io', 'blog.kubernetes.io', true],
  ['*.kubernetes.io', 'latest.blog.kubernetes.io', true],
  ['*.kubernetes.io', 'kubernetes.io', false],
  ['*.kubernetes.io', 'wikipedia.org', false],
  ['*.kubernetes.io', 'my-kubernetes.io', false],
  ['*.kubernetes.io', '.kubernetes.io', false],
];

it.each(CASES)('C38: %s means %s: %s, by itself and by the index', (pattern, name, matches) => {
  expect(matchesDomainName(pattern, name)).toBe(matches);
  const index = new DomainNameIndex<string>();
  index.add(pattern, 'found');
  index.add('other.example', 'wrong');
  if (!name.startsWith('.')) expect([...index.valuesOf(name)]).toEqual(matches ? ['found'] : []);
});
