import { expect, test } from 'vitest';
import { loadedBy } from '../../../test/support/importgraph.ts';
import type { PodKey } from '../../model/cluster.ts';
import { cellText } from '../reach/connectionstext.ts';
import { EditModel } from './editmodel.ts';

const POD = (name: string, ip: string, labels = '') => `apiVersion: v1
kind: Pod
metadata: { name: ${name}, namespace: shop, labels: { app: ${name}${labels} } }
spec: { nodeName: node1, containers: [{ name: c }] }
status: { phase: Running, podIPs: [{ ip: ${ip} }] }
`;
const CLUSTER = `apiVersion: v1
kind: Namespace
metadata: { name: shop, labels: { kubernetes.io/metadata.name: shop } }
---
${POD('web', '10.0.0.1')}---
${POD('db', '10.0.0.2')}`;
const POLICY = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: db, namespace: shop }
spec:
  podSelector: { matchLabels: { app: db } }
  ingress:
  - from: [{ podSelector: { matchLabels: { app: web } } }]
    ports: [{ port: 5432 }]
`;
const SHOP = new Map([
  ['cluster.yaml', CLUSTER],
  ['policies.yaml', POLICY],
]);

function opened(files = SHOP): EditModel {
  const model = new EditModel();
  model.open(files);
  return model;
}

/** `opens Pod shop/web -> Pod shop/db`, without networks and pods that are not there yet. */
function changes(model: EditModel): string[] {
  return model
    .diff()
    .changes.flatMap(({ kind, from, to }) =>
      from
        .flatMap(a => to.map(b => `${kind} ${a} -> ${b}`))
        .filter(text => !/internet|pods? |node/.test(text)),
    );
}

test('a change of a text opens and closes what the policies then say', () => {
  const model = opened();
  expect(changes(model)).toEqual([]);
  const from = POLICY.indexOf('5432');
  model.edit('policies.yaml', [{ from, to: from + 4, insert: '80' }]);
  expect(changes(model)).toEqual(['opens Pod shop/web -> Pod shop/db', 'closes Pod shop/web -> Pod shop/db']);
  expect(model.files.now.get('policies.yaml')).toBe(POLICY.replace('5432', '80'));
});

test('a value that is typed after another one is compared as if it had been typed first', () => {
  const [first, second] = ['web2', 'web3'].map(app => POLICY.replace('app: web', `app: ${app}`));
  const model = opened();
  for (const text of [first!, second!]) {
    model.edit('policies.yaml', text);
    const fresh = opened();
    fresh.edit('policies.yaml', text);
    expect(described(model)).toEqual(described(fresh));
  }
});

function described(model: EditModel): string[] {
  return model.diff().changes.map(({ kind, from, to }) => `${kind} ${from} -> ${to}`);
}

test('several changes of one edit are of the text before it', () => {
  const model = opened(new Map([['a', 'one two three']]));
  model.edit('a', [
    { from: 0, to: 3, insert: '1' },
    { from: 8, to: 13, insert: '3!' },
  ]);
  model.edit('b', [{ from: 0, to: 0, insert: 'new' }]);
  expect(Object.fromEntries(model.files.now)).toEqual({ a: '1 two 3!', b: 'new' });
});

test('undo() leads back to the base, of one file or of all', () => {
  const model = opened();
  model.edit('policies.yaml', undefined);
  model.edit('more.yaml', POLICY.replace('5432', '80'));
  expect(changes(model)).not.toEqual([]);
  model.undo('policies.yaml');
  expect(model.problems().map(({ message }) => message)).toEqual(['is in more.yaml too']);
  model.undo('more.yaml');
  expect([changes(model), model.files.now]).toEqual([[], SHOP]);
  model.edit('cluster.yaml', '');
  model.undo();
  expect([changes(model), model.files.now]).toEqual([[], SHOP]);
});

test('what an open() gives is the base from then on', () => {
  const model = opened();
  model.edit('policies.yaml', '');
  model.open(model.files.now);
  expect(changes(model)).toEqual([]);
  expect(model.base.cluster.policies.size).toBe(0);
});

test('problems() are the errors and warnings of sluice check at their lines', () => {
  const model = opened();
  model.edit('policies.yaml', `---\n${POLICY.replace('app: web', 'app: wbe')}`);
  expect(model.problems()).toMatchObject([
    { file: 'policies.yaml', line: 8, code: 'empty-peer', field: 'spec.ingress[0].from' },
  ]);
});

test('a document that cannot be parsed hides policies, and leaves the others', () => {
  const model = opened();
  model.edit('policies.yaml', `${POLICY}---\nkind: [\n---\n${POLICY.replace('name: db', 'name: other')}`);
  expect(model.now.hidesPolicies).toBe(true);
  expect([...model.now.cluster.policies.keys()]).toEqual([
    'NetworkPolicy shop/db',
    'NetworkPolicy shop/other',
  ]);
  expect(model.problems()).toMatchObject([{ file: 'policies.yaml', line: 11, severity: 'error' }]);
  model.undo();
  expect(model.now.hidesPolicies).toBe(false);
});

test('documents that are alike in two places, or in two files, are each at their own', () => {
  const wrong = POLICY.replace('5432', '70000');
  const model = opened(new Map([...SHOP, ['a.yaml', `${wrong}---\n${wrong}`]]));
  const places = () =>
    model.problems().flatMap(({ file, line, field }) => (field === undefined ? [] : `${file}:${line}`));
  expect(places()).toEqual(['a.yaml:8', 'a.yaml:17']);
  model.edit('a.yaml', `# one\n# two\n---\n${wrong}`);
  model.edit('b.yaml', wrong);
  expect(places()).toEqual(['a.yaml:11', 'b.yaml:8']);
});

test('a document stays the same object while others are edited, and after its own edit is undone', () => {
  const model = opened();
  model.edit('cluster.yaml', CLUSTER.replace('name: web', 'name: wub'));
  const [was, is] = [model.base.cluster.pods, model.now.cluster.pods];
  expect([is.get('shop/db' as PodKey), is.get('shop/wub' as PodKey)?.name]).toEqual([
    was.get('shop/db' as PodKey),
    'wub',
  ]);
  expect(is.get('shop/db' as PodKey)).toBe(was.get('shop/db' as PodKey));
});

test('matrix() is the one of now', () => {
  const model = opened();
  model.edit('policies.yaml', POLICY.replace('5432', '80'));
  const view = model.matrix();
  const [web, db] = ['web', 'db'].map(
    name => view.ends.find(({ members }) => members[0] === `Pod shop/${name}`)!,
  );
  expect(cellText(view.pool, view.cell(web!, db!))).toBe('TCP 80');
});

const BOMB = `a: &a [1, 2]\n${Array.from('bcdefghi', (key, n) => `${key}: &${key} [${`*${'abcdefgh'[n]}, `.repeat(9)}]\n`).join('')}kind: Pod\n`;

test.each([
  ['aliases that would take all memory', BOMB, /alias/],
  ['lists that are nested too deeply', `kind: ${'['.repeat(20_000)}\n`, /nested too deeply|error|flow/i],
  [
    'lists in themselves',
    'kind: List\nitems: &a\n- kind: List\n  items: *a\n',
    /is the list that it is in|resolve/i,
  ],
])('%s end with a sentence, and leave the other documents', (_, text, message) => {
  const model = opened();
  model.edit('policies.yaml', `${POLICY}---\n${text}`);
  const errors = model.problems().filter(({ severity }) => severity === 'error');
  expect(errors).toMatchObject([{ file: 'policies.yaml', message: expect.stringMatching(message) }]);
  expect(model.now.hidesPolicies).toBe(true);
  expect(model.now.cluster.policies.size).toBe(1);
});

test('very many documents are read, and a key in one of them', () => {
  const files = new Map([
    ...SHOP,
    ['many.yaml', 'kind: A\napiVersion: b/v1\nmetadata: {}\n---\n'.repeat(20_000)],
  ]);
  const model = opened(files);
  expect(changes(model)).toEqual([]);
  model.edit('many.yaml', [{ from: 0, to: 0, insert: `${POLICY.replace('5432', '80')}---\n` }]);
  expect(changes(model)).toEqual(['opens Pod shop/web -> Pod shop/db', 'closes Pod shop/web -> Pod shop/db']);
});

test('the edit model loads nothing that a browser lacks', () => {
  expect(
    loadedBy('answers/edit/editmodel.ts').filter(file => /^(?:cli|terminal|kernel|daemon)\//.test(file)),
  ).toEqual([]);
});
