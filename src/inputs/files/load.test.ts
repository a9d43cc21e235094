import { expect, test } from 'vitest';
import { problemText } from '../../model/problem.ts';
import { ManifestCollector, type ManifestOptions } from './load.ts';
import { answerNotes, readingNotes } from './tally.ts';

const SHOP = '{ apiVersion: v1, kind: Namespace, metadata: { name: shop } }';
const POLICY =
  '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: web }, spec: { podSelector: {} } }';
const CILIUM =
  '{ apiVersion: cilium.io/v2, kind: CiliumNetworkPolicy, metadata: { name: other, namespace: shop } }';

function collected(texts: Record<string, string>, options: ManifestOptions = {}): ManifestCollector {
  const collector = new ManifestCollector(options);
  for (const [file, text] of Object.entries(texts)) collector.put(file, collector.read(text, file));
  return collector;
}

test('texts of several files are one cluster, in which objects without a namespace have the one that is given', () => {
  const { cluster, problems, hidesPolicies } = collected(
    { a: SHOP, b: POLICY },
    { namespace: 'shop' },
  ).loaded();
  expect([...cluster.policies.keys(), ...cluster.namespaces.keys()]).toEqual([
    'NetworkPolicy shop/web',
    'shop',
  ]);
  expect([problems, hidesPolicies]).toEqual([[], false]);
});

test('a text that cannot be parsed hides policies, and its problem says that nothing of it is read', () => {
  const { problems, hidesPolicies } = collected({ a: SHOP, b: '{ kind: [' }).loaded();
  expect(hidesPolicies).toBe(true);
  expect(problems.map(problemText)).toEqual([expect.stringMatching(/^b.*nothing of it is read$/)]);
});

test('what is wrong is said once, and of a policy without a name only that it is not applied', () => {
  const spec = 'spec: { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: x } }] }] }';
  const policy = `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: x, ${spec} }`;
  const { problems } = collected({ a: policy }, { allDocuments: true }).loaded();
  const named = 'a:1: NetworkPolicy default/(no name)';
  expect(problems.map(problemText)).toEqual([
    `${named}: metadata.name is missing; the policy is not applied`,
    `${named}: spec.ingress[0].from[0].ipBlock.cidr "x" is not a network; the policy is not applied`,
  ]);
});

test('checked() adds what is wrong with the cluster, what the caller finds, and policies of other engines', () => {
  const collector = collected({ a: SHOP, b: CILIUM }, { allDocuments: true });
  expect(collector.loaded().problems).toEqual([]);
  const more = {
    severity: 'warning',
    object: 'Namespace shop',
    message: 'is small',
    effect: 'none',
  } as const;
  const messages = collector.checked(({ namespaces }) => (namespaces.size === 1 ? [more] : [])).problems;
  expect(messages.map(({ message }) => message)).toEqual(['is small', 'is cilium.io/v2, a policy of Cilium']);
});

test('of an object in two files of a folder that is a mistake, and in two folders a note where they differ', () => {
  const other = POLICY.replace('podSelector: {}', 'podSelector: { matchLabels: { a: b } }');
  const read = (first: string, second: string, text: string) => {
    const { problems, reading, cluster } = collected({ [first]: POLICY, [second]: text }).loaded();
    expect(cluster.policies.get('NetworkPolicy default/web')?.subject.pods.requirements).toEqual([]);
    return [...problems.map(problemText), ...readingNotes(reading)];
  };
  const mistake = 'dev/b.yaml:1: NetworkPolicy default/web: is in dev/a.yaml too; the first one counts';
  expect(read('dev/a.yaml', 'dev/b.yaml', other)).toEqual([mistake]);
  expect(read('dev/a.yaml', 'dev/b.yaml', POLICY)).toEqual([mistake]);
  expect(read('dev/a.yaml', 'prod/a.yaml', other)).toEqual([
    'prod/a.yaml: NetworkPolicy default/web is also in dev/a.yaml with other contents: the one there is used',
  ]);
  expect(read('dev/a.yaml', 'prod/a.yaml', POLICY)).toEqual([]);
});

test('policies that are too many for their namespace have their file and line', () => {
  const policy = (i: number) =>
    `apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: { name: p${i}, namespace: shop }\nspec: { podSelector: {} }`;
  const text = Array.from({ length: 2_003 }, (_, i) => policy(10_000 + i)).join('\n---\n');
  const { problems } = collected({ 'k8s/many.yaml': text }).loaded();
  expect(problems.map(problem => problemText(problem).replace(/ is too much.*/, ''))).toEqual([
    'k8s/many.yaml:10001: NetworkPolicy shop/p12000:',
    'k8s/many.yaml:10006: NetworkPolicy shop/p12001:',
    'k8s/many.yaml:10011: NetworkPolicy shop/p12002:',
  ]);
});

test('what has to be rendered is one line below an answer, however many charts it is', () => {
  const { reading } = collected({ a: SHOP }).loaded();
  expect(answerNotes(reading)).toEqual({ notes: [] });
  expect(
    answerNotes({ ...reading, charts: ['charts/web'], templates: ['t.yaml'], isIgnoreCut: true }),
  ).toEqual({
    notes: ['a .gitignore has more or longer lines than are looked at: what they name is read'],
    apart: 'not read, because it is not rendered: chart charts/web; template t.yaml',
  });
  expect(answerNotes({ ...reading, charts: ['a', 'b', 'c', 'd'] }).apart).toBe(
    'not read, because it is not rendered: charts a, b and 2 more',
  );
});
