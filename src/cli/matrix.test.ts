/** Names of the DNS in every format of the matrix, and in a comparison. */
import { expect, test } from 'vitest';
import { clusterView } from '../../test/support/questions/clusterview.ts';
import { diffMarkdown, diffObject } from '../answers/reach/diff/difftext.ts';
import { diffOf } from '../answers/reach/diff/diffview.ts';
import { csvLines, dotLines, htmlLines, markdownLines } from '../answers/reach/documents.ts';
import { matrixObject, rowsOf } from '../answers/reach/rows.ts';
import { matrixViewOf } from '../answers/reach/view.ts';
import { diffLines } from './diff/diff.ts';
import { aloneNotes, matrixLines } from './matrix.ts';

const pod = (name: string, ip: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: shop, labels: { app: ${name} } }, spec: { containers: [{ name: c }] }, status: { podIP: ${ip} } }`;
const policy = (names: readonly string[]) => `apiVersion: policy.networking.k8s.io/v1beta1
kind: ClusterNetworkPolicy
metadata: { name: names }
spec:
  tier: Admin
  priority: 1
  subject: { pods: { namespaceSelector: {}, podSelector: { matchLabels: { app: web } } } }
  egress:
  - { name: not-there, action: Deny, to: [{ networks: [198.51.100.0/24] }] }
  - { name: names, action: Accept, to: [{ domainNames: [${names.map(name => `"${name}"`)}] }], protocols: [{ tcp: { destinationPort: { number: 443 } } }] }
  - { name: dns, action: Accept, to: [{ networks: [10.96.0.10/32] }] }
  - { name: inside, action: Accept, to: [{ networks: [192.168.0.0/16] }] }
  - { name: nowhere, action: Deny, to: [{ networks: [0.0.0.0/0] }] }`;
const cluster = (...names: string[]) =>
  clusterView([pod('web', '10.0.0.1'), pod('db', '10.0.0.2'), policy(names)].join('\n---\n'));

function shown(...names: string[]) {
  const view = matrixViewOf(cluster(...names), 'allow');
  return { view, rows: rowsOf(view, () => true) };
}

const { view, rows } = shown('*.example.org', 'a.example.org', 'logs.example');
const WHERE = 'outside 198.51.100.0/24';

test('a name is a column of its own, in parts where a network is denied before the names', () => {
  const ends = view.ends.filter(({ kind }) => kind === 'domain').map(({ members }) => members);
  const all = ['*.example.org', 'a.example.org', 'logs.example'];
  expect(ends).toContainEqual(all.map(name => `${name} ${WHERE}`));
  const text = matrixLines(view, rows, 200).join('\n');
  expect(text).toContain(`domain *.example.org ${WHERE} and 2 more`);
  expect(text).toContain('A domain means the addresses that DNS answers gave a pod for such a name');
  const toNames = rows.filter(({ to }) => to.kind === 'domain');
  expect(toNames.map(({ from, to }) => [from.members, to.members.length])).toEqual([[['Pod shop/web'], 3]]);
});

test('a name is one column where policies say the same of it everywhere, and none where nobody has a rule by it', () => {
  const simple = policy(['logs.example'])
    .split('\n')
    .filter(line => !/not-there|inside|dns/.test(line));
  const state = clusterView([pod('web', '10.0.0.1'), simple.join('\n')].join('\n---\n'));
  const { ends } = matrixViewOf(state, 'allow');
  expect(ends.filter(({ kind }) => kind === 'domain')).toMatchObject([{ members: ['logs.example'] }]);
  expect(
    matrixViewOf(clusterView(pod('db', '10.0.0.2')), 'allow').ends.some(({ kind }) => kind === 'domain'),
  ).toBe(false);
  const nobodys = clusterView([pod('db', '10.0.0.2'), simple.join('\n')].join('\n---\n'));
  expect(matrixViewOf(nobodys, 'allow').ends.some(({ kind }) => kind === 'domain')).toBe(false);
});

test('every format of the matrix has the names', () => {
  const name = /domain \*\.example\.org outside 198.51.100.0/;
  expect([...csvLines(view, rows)]).toContain(
    'shop/web,domain *.example.org outside 198.51.100.0/24,TCP 443,,open,',
  );
  expect(markdownLines(view, rows).join('\n')).toContain('domain \\*.example.org outside');
  expect(dotLines(view, rows).join('\n')).toMatch(/label="domain \*\.example\.org outside .*", shape=note/);
  const html = htmlLines(view, rows, 'a test').join('\n');
  expect(html).toMatch(new RegExp(`<th scope="col">${name.source}`));
  expect(html).not.toMatch(new RegExp(`<th scope="row">${name.source}`));
  expect(matrixObject(view, rows, [])).toMatchObject({
    ends: expect.arrayContaining([expect.objectContaining({ kind: 'domain' })]),
  });
});

test('a comparison names the names that open and close, and no address for them', () => {
  const diff = diffOf(cluster('a.example.org'), cluster('*.example.net'), 'allow');
  const text = diffLines(diff, 200).join('\n');
  const where = 'outside 10.96.0.10/32, 192.168.0.0/16, 198.51.100.0/24';
  expect(text).toContain(
    `+ opens  shop/web, pods app=web in all namespaces -> domain *.example.net ${where}: TCP 443`,
  );
  expect(text).toContain(
    `- closes shop/web, pods app=web in all namespaces -> domain a.example.org ${where}: TCP 443`,
  );
  expect(diff.changes).toHaveLength(2);
  expect(diffMarkdown(diff).join('\n')).toContain('domain \\*.example.net outside');
  expect(diffObject(diff, undefined, [])).toMatchObject({
    changes: [{ to: [`domain *.example.net ${where}`] }, { to: [`domain a.example.org ${where}`] }],
  });
});

test('a name that a wildcard means on the other side neither opens nor closes', () => {
  const { changes } = diffOf(cluster('a.example.org'), cluster('*.example.org'), 'allow');
  expect(changes.map(({ kind, to }) => `${kind} ${to}`)).toEqual([
    expect.stringMatching(/^opens domain \*\.example\.org outside /),
  ]);
});

test('a matrix of what could not all be read has no legend, which says what the absence of a line means', () => {
  expect(matrixLines(view, rows, 200).join('\n')).toContain('not listed is denied');
  expect(matrixLines(view, rows, 200, false).join('\n')).not.toContain('not listed');
  expect(matrixLines({ ...view, exposures: [] }, [], 80, false)).toEqual([]);
});

test('workloads that nobody reaches and that reach nobody are named in a note', () => {
  const closed =
    '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: db, namespace: shop }, spec: { podSelector: { matchLabels: { app: db } }, policyTypes: [Ingress, Egress] } }';
  const of = (...objects: string[]) => {
    const view = matrixViewOf(clusterView(objects.join('\n---\n')), 'allow');
    const isAsked = () => true;
    return aloneNotes(view, rowsOf(view, isAsked), isAsked);
  };
  expect(of(pod('web', '10.0.0.1'), pod('db', '10.0.0.2'), closed)).toEqual([
    'nobody reaches these, and they reach nobody: shop/db',
  ]);
  expect(of(pod('web', '10.0.0.1'), pod('db', '10.0.0.2'))).toEqual([]);
});

test('a comparison of many changes is a screen, and -o wide has all of it', () => {
  const deny = (...names: string[]) =>
    names.map(
      name =>
        `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: ${name}, namespace: shop }, spec: { podSelector: { matchLabels: { app: ${name} } }, policyTypes: [Ingress, Egress] } }`,
    );
  const names = Array.from({ length: 14 }, (_, i) => `w${i}`);
  const pods = names.map((name, i) => pod(name, `10.0.1.${i}`));
  const of = (...more: string[]) => clusterView([...pods, ...more].join('\n---\n'));
  const diff = diffOf(of(), of(...deny(...names.slice(0, 7))), 'allow');
  const [short, wide] = [false, true].map(isWide => diffLines(diff, 80, isWide));
  expect(diff.changes.length).toBeGreaterThan(10);
  expect(short!.length).toBeLessThan(40);
  expect(short!.join('\n')).not.toContain('was allowed');
  expect(short).toContain('  and 4 more workloads');
  expect(short).toContain(`  and ${diff.changes.length - 10} more changes`);
  expect(wide!.filter(line => line.includes('was allowed'))).toHaveLength(diff.changes.length);
});
