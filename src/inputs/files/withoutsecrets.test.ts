import { expect, test } from 'vitest';
import { parseManifest } from './parse.ts';
import { withoutSecrets } from './withoutsecrets.ts';

const POD = 'apiVersion: v1\nkind: Pod\nmetadata: { name: p }\n';
const SECRET = 'apiVersion: v1\nkind: Secret\nmetadata: { name: s }\nstringData:\n  key: hidden\n';
const LIST = (kind: string, ...items: object[]) => JSON.stringify({ apiVersion: 'v1', kind, items });
const OBJECT = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { key: 'hidden' } };

test.each([
  ['a document', `${POD}---\n${SECRET}---\n${POD}`],
  ['the only document', SECRET],
  ['quoted keys and flow style', `{"kind": "Secret", "metadata": {}, "data": {"a": "hidden"}}`],
  ['a kind with escapes', '"kind": "\\u0053ecret"\nmetadata: {}\ndata: { a: hidden }\n'],
  ['an item of a list', LIST('List', { kind: 'Pod', metadata: { name: 'p' } }, OBJECT)],
  ['an item of a list in a list', LIST('List', { kind: 'List', items: [OBJECT] })],
  [
    'a list of Secrets, whose items have no kind',
    LIST('SecretList', { metadata: {}, data: { a: 'hidden' } }),
  ],
  ['an object of a template', `kind: Template\nobjects:\n- ${JSON.stringify(OBJECT)}\n`],
  ['a document that cannot be parsed', `${POD}---\n${SECRET}data: [\n`],
  ['a file whose documents are not clear', `%YAML 1.2\n---\n${SECRET}`],
  ['a list that has itself', `kind: List\nitems: &a\n- *a\n- ${JSON.stringify(OBJECT)}\n`],
])('no text of a Secret is left: %s', (_, text) => {
  expect(withoutSecrets(text)).not.toContain('hidden');
});

test('other documents stay as they are, at their lines', () => {
  const rest = withoutSecrets(`${POD}---\n${SECRET}---\n${POD}`);
  expect(rest.split('---\n')).toEqual([POD, expect.stringMatching(/^# A Secret is left out\.\n{5}$/), POD]);
});

test('other items of a list stay', () => {
  const pod = { kind: 'Pod', metadata: { name: 'p' } };
  const [{ value } = { value: undefined }] = parseManifest(withoutSecrets(LIST('List', pod, OBJECT)));
  expect(value).toEqual({ apiVersion: 'v1', kind: 'List', items: [pod] });
});

test.each([
  'kind: Gateway\nspec:\n  certificateRefs: [{ kind: Secret, name: tls }]\n',
  'kind: Deployment # it has a Secret\nspec: {}\n',
  'kind: SealedSecret\nspec: {}\n',
  '{{ template of a chart }}\n',
])('a text without a Secret stays as it is: %j', text => {
  expect(withoutSecrets(text)).toBe(text);
});

test('what cannot be parsed stays so', () => {
  expect(() => parseManifest(withoutSecrets('kind: Secret\nmetadata: ['))).toThrow();
});
