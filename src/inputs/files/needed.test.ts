import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../test/support/seed.ts';
import { type Manifest, readAllDocuments, readManifest, readNeeded } from './manifest.ts';
import { neededDocuments } from './needed.ts';

const object = (kind: string, apiVersion = 'v1') =>
  `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata:\n  name: a\n`;
const CRD = object('CustomResourceDefinition', 'apiextensions.k8s.io/v1');
const POLICY = `${object('NetworkPolicy', 'networking.k8s.io/v1')}spec:\n  podSelector: {}\n`;

describe('neededDocuments() leaves out, without parsing,', () => {
  test.each<[string, string]>([
    ['a kind that no answer needs', CRD],
    ['one whose text no parser would take', `${CRD}spec:\n  a: [\n`],
    [
      'one with comments and spaces',
      '# a\n---\n\n# b\nkind: Secret  # c\n\napiVersion: v1\n\ndata:\n  k: v\n',
    ],
    ['one with the line ends of Windows', CRD.replaceAll('\n', '\r\n')],
    ['one whose list is not indented', `${object('ServiceAccount')}secrets:\n- name: a\n`],
    [
      'one with a block of text in which there is another kind',
      `${object('ConfigMap')}data:\n  a: |\n    kind: Pod\n`,
    ],
  ])('%s', (_, text) => {
    const { documents, tally } = neededDocuments(text);
    expect([documents, tally.kinds.length, tally.isForeign]).toEqual([[], 1, false]);
  });
});

describe('neededDocuments() parses, because it is not certain what a reader sees,', () => {
  test.each<[string, string]>([
    ['a key in quotes', POLICY.replace('kind:', '"kind":')],
    ['a second kind in quotes', `${CRD}"kind": NetworkPolicy\n`],
    ['a kind that comes twice', `${CRD}kind: NetworkPolicy\n`],
    ['one that comes twice, first as it is', `${object('Pod')}kind: Secret\n`],
    ['flow style', '{ apiVersion: v1, kind: Secret, metadata: { name: a } }'],
    ['flow style around lines', '{\napiVersion: v1,\nkind: Secret\n}'],
    ['a kind that goes on in the next line', CRD.replace('Definition', 'Definition\n  and more')],
    ['one that goes on behind an empty line', CRD.replace('Definition', 'Definition\n\n  and more')],
    ['an explicit key', '? kind\n: Secret\napiVersion: v1\nmetadata: {}\n'],
    ['a merge key', `${object('Secret')}<<: { kind: Pod }\n`],
    ['a kind with a tag', object('!!str Secret')],
    ['a kind with an anchor', object('&a Secret')],
    ['a kind that is a block of text', object('|\n  Secret')],
    ['a kind behind a tab', object('Secret').replace('kind: ', 'kind:\t')],
    ['a hash without a space before it', object('Secret#1')],
    ['a map that is indented', object('Secret').replaceAll(/^/gm, '  ')],
    [
      'a map that is indented, with lines in its text that are not',
      '  kind: Pod\n  apiVersion: v1\n  a: "\nkind: Secret\napiVersion: v1\nb: c"\n',
    ],
    ['a document behind the line that begins it', '--- { apiVersion: v1, kind: Secret }\n'],
    ['a directive', `%YAML 1.1\n---\n${object('Secret')}`],
    ['a document that is ended', `${object('Secret')}...\n---\n${object('Secret')}`],
    ['another version', object('Secret', 'v2')],
    ['another group', object('Secret', 'networking.k8s.io/v1')],
    ['a return alone, which is the end of a line', `${object('ConfigMap')}data: # a\rx: y\n`],
    ['JSON with an escaped key', '{"apiVersion":"v1","\\u006bind":"NetworkPolicy","metadata":{}}'],
    ['a list of kind List', 'apiVersion: v1\nkind: List\nitems: []\n'],
    ['a policy without an apiVersion', POLICY.replace(/^apiVersion.*\n/, '')],
    ['a policy whose kind is all it says', 'kind: NetworkPolicy\nfrom: []\n'],
    ['a policy without both', POLICY.replace(/^apiVersion.*\nkind.*\n/, '')],
    ['fields in another case', 'ApiVersion: v1\nKind: Secret\n'],
  ])('%s', (_, text) => {
    expect(neededDocuments(text).documents.length).toBeGreaterThan(0);
  });
});

describe('neededDocuments() counts as a file without an object', () => {
  test.each<[string, string]>([
    ['settings', 'name: ci\non: [push]\njobs:\n  a:\n    kind: x\n'],
    ['settings that cannot be parsed', 'a: b: c\n'],
    ['a package', '{"name": "a", "version": "1.0.0"}'],
    ['JSON with comments', '// settings\n{ "compilerOptions": { "strict": true, /* all */ }, }'],
    ['values of a chart', 'ingress:\n  enabled: true\nmetadata: {}\n'],
    ['a chart', 'apiVersion: v2\nname: shop\nversion: 1.0.0\n'],
    ['a kustomization without a version', 'resources:\n- a.yaml\nnamespace: shop\n'],
    ['a patch of JSON', '- op: replace\n  path: /spec/kind\n  value: 1\n'],
    ['expected flows', 'title: a\nmanifests: [a.yaml]\nflows:\n- a -> b:80 allow\n'],
    ['text', 'hello world, and kind regards\n'],
    ['a number', '42\n'],
    ['comments', '# kind: nothing\n'],
    ['nothing', ''],
  ])('%s', (_, text) => {
    expect(neededDocuments(text)).toMatchObject({ documents: [], tally: { isForeign: true, kinds: [] } });
  });
});

test('a file with an object is a manifest, and complained of where a document of it is none', () => {
  for (const text of [POLICY, CRD])
    for (const other of ['a: 1\n', 'a: [\n'])
      expect(readAllDocuments(`${text}---\n${other}`, 'a.yaml').problems).toHaveLength(1);
});

test('a template is left out, but not where it may be a policy', () => {
  const template = `${object('Service')}spec:\n  {{- if .Values.a }}\n  ports: []\n  {{- end }}\n`;
  expect(neededDocuments(template).tally.isTemplate).toBe(true);
  expect(neededDocuments(template.replace('Service', 'NetworkPolicy')).documents).not.toEqual([]);
  const value = object('Service').replace('name: a', 'name: {{ .Release.Name }}');
  expect(neededDocuments(value).tally.isTemplate).toBe(true);
  expect(neededDocuments(`${object('Service')}a: "{{ x }}"\nb: |\n  {{ y }}\n`).documents).toHaveLength(1);
});

test('a document that is read has its lines, whatever was left out before it', () => {
  const { problems, tally } = readAllDocuments(`${CRD}---\na: 1\n---\n${POLICY}  policyTypes: x\n`, 'a.yaml');
  expect(problems.map(({ line }) => line)).toEqual([6, 14]);
  expect([tally?.documents, tally?.kinds]).toEqual([2, ['CustomResourceDefinition']]);
});

test('with and without documents left out, files give the same objects and problems', () => {
  const pod = '{ metadata: { labels: { a: b } }, spec: { containers: [{ name: a }] } }';
  const lines = [
    'metadata: { name: a }',
    'metadata:\n  name: b\n  namespace: c',
    'spec: { podSelector: {} }',
    `spec:\n  template: ${pod}`,
    'data:\n  a: |\n    kind: Pod\n    apiVersion: v1\n\n  b: "kind: Pod"',
    'other: "a\n  kind: Pod"',
    '# kind: Pod',
    'type: Opaque # kind: Pod',
    'secrets:\n- name: a\n- name: b',
    'stringData: >-\n  kind: Secret\n\n  kind: Pod\n',
  ];
  const version = fc.constantFrom('v1', '"v1"', 'apps/v1', 'networking.k8s.io/v1');
  const kind = fc.constantFrom(
    'Secret',
    'ConfigMap',
    'Pod',
    'NetworkPolicy',
    "'Secret'",
    '"Pod"',
    'Secret\n  too',
  );
  const document = fc
    .tuple(version, kind, fc.subarray(lines))
    .chain(([v, k, some]) => {
      const all = [`apiVersion: ${v}`, `kind: ${k}`, ...some];
      return fc.shuffledSubarray(all, { minLength: all.length });
    })
    .map(each => each.join('\n'));
  const file = fc
    .tuple(
      fc.array(document, { minLength: 1, maxLength: 4 }),
      fc.constantFrom('\n---\n', '\n--- # a\n', '\r\n---\r\n'),
    )
    .map(([documents, between]) => documents.join(between));
  let compared = 0;
  const same = (text: string) => {
    const whole = readManifest(text, 'a.yaml');
    if (whole.objects === undefined) return; // a key comes twice
    compared++;
    expect(found(readNeeded(text, 'a.yaml'))).toEqual(found(whole));
    expect(found(readAllDocuments(text, 'a.yaml'))).toEqual(found(whole));
  };
  fc.assert(fc.property(file, same), { numRuns: runs(20_000, 300) });
  expect(compared).toBeGreaterThan(runs(2_000, 30));
  // The same of texts into which somebody has written anything: no object may hide from the outline alone.
  const bits = [
    '"',
    "'",
    '\n',
    '\n  ',
    '\t',
    '---\n',
    '--- ',
    '...\n',
    '#',
    ' # ',
    '|',
    '? ',
    ': ',
    '- ',
    '{',
    '}',
  ];
  const more = [
    '&a ',
    '*a',
    '!!str ',
    '<<: ',
    '%YAML 1.1\n',
    '\r',
    '\u2028',
    '\\',
    '\nkind: Pod\n',
    '\n"kind": Pod\n',
  ];
  const insertions = fc.array(fc.tuple(fc.nat(), fc.constantFrom(...bits, ...more)), {
    minLength: 1,
    maxLength: 4,
  });
  const inserted = (text: string, [at, bit]: [number, string]) =>
    text.slice(0, at % text.length) + bit + text.slice(at % text.length);
  let hostile = 0;
  const holdsSame = (text: string, some: [number, string][]) => {
    const edited = some.reduce(inserted, text);
    const whole = readManifest(edited, 'a.yaml');
    if (whole.objects === undefined) return;
    hostile++;
    expect(held(readNeeded(edited, 'a.yaml')), edited).toEqual(held(whole));
  };
  fc.assert(fc.property(file, insertions, holdsSame), { numRuns: runs(40_000, 400) });
  expect(hostile).toBeGreaterThan(runs(2_000, 20));
});

function held({ objects = [] }: Manifest) {
  return objects
    .map(({ event, object, inventory }) => [event, object, inventory().item])
    .filter(parts => parts.some(part => part !== undefined));
}

/** What an answer gets of a file: documents that give nothing count for nothing. */
function found({ objects = [] }: Manifest) {
  return objects
    .map(({ event, object, problems, inventory }) => ({ event, object, problems, read: inventory() }))
    .filter(({ event, object, problems, read }) => event ?? object ?? problems[0] ?? read.item);
}
