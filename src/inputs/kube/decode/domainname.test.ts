import { expect, test } from 'vitest';
import { domainNameNoun, parseDomainName } from './clusterpeer.ts';

const label = (length: number) => 'a'.repeat(length);

test.each([
  ['Example.ORG.', 'example.org'],
  ['*.a.example', '*.a.example'],
  ['_srv._tcp.example.org', '_srv._tcp.example.org'],
  ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
  [`${label(63)}.example`, `${label(63)}.example`],
  [`${'a.'.repeat(126)}a`, `${'a.'.repeat(126)}a`],
  ['1.example', '1.example'],
])('C39: %s is a name', (text, name) => {
  expect(parseDomainName(text)).toBe(name);
});

test.each([
  '*.a',
  '*.',
  '*',
  '.',
  '',
  'example',
  'a..b',
  '.example.org',
  'a.example..',
  '-a.example',
  'a-.example',
  'a.*.example',
  '*.*.example',
  'a b.example',
  'a\\.b.example',
  'b\u00fccher.example',
  '\u212aubernetes.example',
  '1.2.3.4',
  '[::1]',
  `${label(64)}.example`,
  `${'a.'.repeat(126)}aa`,
])('C39: %j is none', text => {
  expect(parseDomainName(text)).toBeUndefined();
});

test.each([
  ['*.com', 'a domain name (it needs two labels behind *., as *.example.org)'],
  ['*', 'a domain name (it needs two labels behind *., as *.example.org)'],
  ['localhost', 'a domain name (it needs two labels, as example.org)'],
  ['foo.*.example', 'a domain name (*. in front only, and once)'],
  ['*.*.example', 'a domain name (*. in front only, and once)'],
  ['exa mple.org', 'a domain name'],
])('of %s it says why it is none', (text, noun) => {
  expect(domainNameNoun(text)).toBe(noun);
});
