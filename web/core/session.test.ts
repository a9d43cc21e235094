/** What the page shows of a cluster is what the command line says of it. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EditModel } from '../../src/answers/edit/editmodel.ts';
import { entrywaysOfMatrix } from '../../src/answers/entrances/entryways.ts';
import { cellText } from '../../src/answers/reach/connectionstext.ts';
import { memberText, rowsOf } from '../../src/answers/reach/rows.ts';
import type { Changes, Files, Model } from './protocol.ts';
import { Session } from './session.ts';

const SHOP = join(import.meta.dirname, '../../examples/shop');
const shop: Files = ['cluster.yaml', 'platform.yaml', 'policies.yaml'].map(
  name => [name, readFileSync(join(SHOP, name), 'utf8')] as const,
);

function opened(files: Files = shop) {
  const session = new Session();
  return { session, model: session.open(files) };
}

/** `shop/web -> shop/api: TCP 8080`, of each pair of the page. */
function shown({ rows, ends, cells, types }: Model): string[] {
  const name = ({ kind, member, part }: Model['rows'][number]) =>
    `${kind === 'node' ? 'node/' : kind === 'domain' ? 'domain ' : ''}${member}${part ? ` (${part})` : ''}`;
  return rows.flatMap(from =>
    rows.flatMap(to => {
      const type = types[cells[from.end * ends + to.end]!]!;
      return ['some', 'all'].includes(type.kind) ? [`${name(from)} -> ${name(to)}: ${type.text}`] : [];
    }),
  );
}

function expected(files: Files): string[] {
  const edited = new EditModel();
  edited.open(new Map(files));
  const view = edited.matrix();
  const names = (end: (typeof view.ends)[number]) =>
    end.members.map(member => (end.kind === 'workload' ? withPart(end, member) : memberText(end, member)));
  return rowsOf(view, () => true).flatMap(({ from, to, cell }) =>
    names(from).flatMap(a => names(to).map(b => `${a} -> ${b}: ${cellText(view.pool, cell)}`)),
  );
}

function withPart({ parts }: { readonly parts: ReadonlyMap<string, string> }, member: string): string {
  const part = parts.get(member);
  return part === undefined ? member : `${member} (${part})`;
}

const STORIES = ['1-deny', '4-tenants', '6-intranet', '8-nodes', '9-domain-names'];

test.each(STORIES)('the matrix of %s has the connections of sluice matrix, and no others', story => {
  const files = ['cluster.yaml', 'policies.yaml'].map(
    name => [name, readFileSync(join(SHOP, '../user-stories', story, name), 'utf8')] as const,
  );
  const { model } = opened(files);
  expect(shown(model).sort()).toEqual(expected(files).sort());
  expect(shown(model).length).toBeGreaterThan(5);
});

const rowOf = ({ rows }: Model, member: string) => rows.findIndex(each => each.member === member);

test('a cell is explained by the first port that may pass, with the lines of the policies on the way', () => {
  const { session, model } = opened();
  const [from, to] = [rowOf(model, 'Deployment shop/api'), rowOf(model, 'StatefulSet shop/db')].map(
    (found, i) => (found === -1 ? rowOf(model, ['Pod shop/api', 'Pod shop/db'][i]!) : found),
  );
  const { answer, port, places } = session.explain({ from: from!, to: to! });
  expect(port).toBe('5432');
  expect(answer).toMatchObject({ verdict: 'allow', port: 5432, protocol: 'TCP' });
  const place = places['NetworkPolicy shop/db ingress[0]'];
  expect(place?.file).toBe('policies.yaml');
  const line = shop[2]![1].split('\n')[place!.line! - 1];
  expect(line).toContain('- from:');
});

test('what is counted at a glance is what the cells say', () => {
  const { rows, ends, cells, types, glance } = opened().model;
  const isOpen = (from: number, to: number) =>
    ['some', 'all'].includes(types[cells[rows[from]!.end * ends + rows[to]!.end]!]!.kind);
  const workloads = [...rows.keys()].filter(i => rows[i]!.kind === 'workload');
  const internet = rows.findIndex(({ name }) => name === 'internet');
  const others = (row: number) => workloads.filter(each => each !== row);
  expect(glance).toEqual({
    pairs: workloads.length * (workloads.length - 1),
    openPairs: workloads.flatMap(from => others(from).filter(to => isOpen(from, to))).length,
    openToInternet: workloads.filter(row => isOpen(internet, row)),
    reachingInternet: workloads.filter(row => isOpen(row, internet)),
    openToAll: workloads.filter(row => others(row).every(from => isOpen(from, row))),
  });
  expect(glance.openPairs).toBeGreaterThan(0);
});

test('an edit is compared with what was opened, and taking it back leaves nothing', () => {
  const { session } = opened();
  const edited = shop.map(([name, text]) => [name, text.replace('port: 5432', 'port: 5433')] as const);
  const { changes } = session.edit(edited) as Changes;
  expect(changes.map(({ kind, what }) => `${kind} ${what}`).sort()).toEqual(
    expect.arrayContaining(['closes TCP 5432']),
  );
  expect(session.edit(shop)).toMatchObject({ changes: [] });
});

test('half a document is no edit: the answers of before stay, and the problem has its line', () => {
  const { session } = opened();
  expect(
    session.edit(shop.map(([name, text]) => [name, `${text}---\nkind: NetworkPolicy\nmetadata: [`])),
  ).toBe('unreadable');
  expect(session.explain({ from: 0, to: 1 }).answer).toMatchObject({ verdict: 'allow' });
  expect(session.check().some(({ severity, line }) => severity === 'error' && line !== undefined)).toBe(true);
  expect(session.edit(shop)).toMatchObject({ changes: [] });
  expect(session.matrix()).toMatchObject({ counts: { policies: 9 } });
});

test('a document that cannot be parsed leaves no verdict, because it may have been a policy', () => {
  const { session, model } = opened([
    ...shop,
    ['broken.yaml', 'apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: ['],
  ]);
  expect(model.notes.join()).toContain('not all policies could be read');
  expect(session.explain({ from: 0, to: 1 }).answer).toMatchObject({ verdict: 'undecided' });
});

test('policies name whom they select and mean, and the vocabulary is of the cluster', () => {
  const { policies, vocabulary } = opened().session.overview();
  expect(policies[0]?.tier).toBe('admin');
  const web = policies.find(({ id }) => id === 'NetworkPolicy shop/web');
  expect(web?.selects.join()).toMatch(/shop\/web/);
  expect(web?.place).toMatchObject({ file: 'policies.yaml' });
  expect(vocabulary.namespaces).toContain('shop');
  expect(vocabulary.podLabels.app).toContain('db');
});

test('a fix is the YAML that kubectl takes, and says what else it opens', () => {
  const { session, model } = opened();
  const from = model.rows.findIndex(({ name }) => name === 'visitor');
  const to = model.rows.findIndex(({ name }) => name === 'db');
  const { yaml, verdict } = session.fix({ from, to, port: '5432', protocol: 'TCP' }, 'allow');
  expect(verdict).toBe('allow');
  expect(yaml?.verbatim).toContain('kind: NetworkPolicy');
});

test('a cell has no sign of an edit in its short text', () => {
  const { types } = opened().model;
  const shorts = types.map(({ short }) => short);
  expect(shorts.join()).toMatch(/…/);
  expect(shorts.filter(short => /[+−]/.test(short))).toEqual([]);
});

const INGRESS: Files = ['cluster.yaml', 'policies.yaml'].map(
  name => [name, readFileSync(join(SHOP, '../ingress', name), 'utf8')] as const,
);

test('ways from outside are those of sluice matrix, and those of explain where the internet asks', () => {
  const { session, model } = opened(INGRESS);
  const edited = new EditModel();
  edited.open(new Map(INGRESS));
  const { cluster, inventory } = edited.now;
  const expected = entrywaysOfMatrix({
    ...{ cluster, inventory, knowsInventory: true, defaultNamespace: 'default', unknownPods: 'allow' },
  }).ways;
  const { ways } = session.overview();
  expect(expected.length).toBeGreaterThan(1);
  const words = ({ to, verdict, steps }: (typeof expected)[number] | (typeof ways)[number]) =>
    `${to} ${verdict}: ${steps.map(step => `${step.from} ${step.to} ${step.port} ${step.verdict}`).join(', ')}`;
  expect(new Set(ways.map(words))).toEqual(new Set(expected.map(words)));
  const [{ to } = { to: '' }] = ways;
  const asked = session.explain({ from: rowOf(model, 'internet'), to: rowOf(model, to) });
  expect(asked.ways.map(words)).toEqual(ways.filter(way => way.to === to).map(words));
  expect(session.document('md').verbatim).toContain('From outside');
});

test('where a policy cannot be read, a way from outside is undecided', () => {
  const { session } = opened([...INGRESS, ['broken.yaml', 'kind: NetworkPolicy\nmetadata: [']]);
  expect([...new Set(session.overview().ways.map(({ verdict }) => verdict))]).toEqual(['undecided']);
});

test('the command of a question names workloads as the command line does, and what is to be filled in', () => {
  const labels = '{ app: web }';
  const { session, model } = opened([
    [
      'web.yaml',
      `{ apiVersion: apps/v1, kind: Deployment, metadata: { name: web, namespace: shop }, spec: { selector: { matchLabels: ${labels} }, template: { metadata: { labels: ${labels} }, spec: { containers: [] } } } }`,
    ],
  ]);
  const [from, to] = [rowOf(model, 'Deployment shop/web'), rowOf(model, 'internet')];
  const { command } = session.explain({ from, to, port: '443', protocol: 'TCP' });
  expect(command).toBe('sluice explain shop/deploy/web internet:443/TCP --manifests PATH');
});

test('the command of a question is one for a shell, whatever a link says of the port', () => {
  const { session, model } = opened();
  const [from, to] = [rowOf(model, 'internet'), rowOf(model, 'Pod shop/db')];
  const { command, question } = session.explain({ from, to, port: "80'; id $(id) #", protocol: 'TCP' });
  const script = `sluice() { printf '%s\\n' "$@"; }; ${command}`;
  expect(spawnSync('sh', ['-c', script], { encoding: 'utf8' }).stdout).toBe(
    `explain\n${question.from}\n${question.to}\n--manifests\nPATH\n`,
  );
  expect(question.to).toContain("80'; id");
});
