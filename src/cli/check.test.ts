import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

let folder: string;
const EMPTY = 'warning[empty-subject]';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-check-'));
  const policy = (namespace: string, app: string) =>
    `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: p, namespace: ${namespace} }, spec: { podSelector: { matchLabels: { app: ${app} } } } }`;
  writeFileSync(join(folder, 'policies.yaml'), [policy('shop', 'web'), policy('team', 'x')].join('\n---\n'));
  const deployment = (namespace: string) =>
    `{ apiVersion: apps/v1, kind: Deployment, metadata: { name: web, namespace: ${namespace} }, spec: { template: { metadata: { labels: { app: web } } } } }`;
  writeFileSync(join(folder, 'workloads.yaml'), [deployment('shop'), deployment('team')].join('\n---\n'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function check(words: string[], input = '') {
  const main = join(import.meta.dirname, 'main.ts');
  return spawnSync(process.execPath, [main, 'check', ...words], { encoding: 'utf8', cwd: folder, input });
}

test.each([
  [
    'policies without Namespaces, alone',
    ['policies.yaml'],
    0,
    'ok: 0 namespaces, 0 nodes, 0 pods, 0 workloads, 2 policies',
  ],
  ['a warning', ['.'], 0, EMPTY],
  ['a warning, strictly', ['--strict', '.'], 1, EMPTY],
  ['a warning that is accepted', ['--strict', '--accept', 'empty-subject', '.'], 0, ', 1 accepted'],
  [
    'a warning of an object that is accepted',
    ['--strict', '--accept', 'empty-subject:NetworkPolicy team/p', '.'],
    0,
    ', 1 accepted',
  ],
  [
    'another object that is accepted',
    ['--strict', '--accept', 'empty-subject:NetworkPolicy shop/p', '.'],
    1,
    EMPTY,
  ],
  ['a kind that is none', ['--accept', 'nonsense', '.'], 2, ''],
  ['a path that is not there', ['nothing'], 2, ''],
  ['two paths as one cluster', ['policies.yaml', 'workloads.yaml'], 0, '2 workloads, 2 policies'],
] as const)('check of %s', (_, words, code, text) => {
  const { stdout, status } = check([...words]);
  expect([status, stdout]).toEqual([code, expect.stringContaining(text)]);
});

test('check takes -n for the namespace of manifests that say none, as its siblings do', () => {
  const policy =
    '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: p }, spec: { podSelector: { matchLabels: { app: x } } } }';
  const of = (...words: string[]) => check([...words, '-', 'workloads.yaml'], policy).stdout;
  expect(of('-n', 'shop')).toContain(`${EMPTY}: standard input:1: NetworkPolicy shop/p: `);
  expect(of()).not.toContain(EMPTY);
});

test('check --fix edits files, says what, and checks them again; without it, it says what can be mended', () => {
  const policy = (cidr: string, more = '') =>
    `kind: NetworkPolicy # mine\napiVersion: networking.k8s.io/v1\nmetadata: { name: p }\nspec: { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: ${cidr} } }]${more} }] }\n`;
  const [bad, broken] = ['bad.yaml', 'broken.yaml'].map(name => join(folder, name));
  writeFileSync(bad!, policy('10.0.0.5/8'));
  writeFileSync(broken!, policy('10.0.0.5/8', ', prots: []').replace('name: p', 'name: q'));
  expect(check([bad!]).stdout).toContain('0 errors, 1 warning (--fix repairs 1 of them) in ');
  const { stdout, status } = check(['--fix', bad!]);
  expect([stdout.split('\n')[0], status]).toEqual([
    `fixed[legacy-address]: ${bad}: NetworkPolicy default/p: spec.ingress[0].from[0].ipBlock.cidr`,
    0,
  ]);
  expect(stdout).toContain('ok: ');
  expect(readFileSync(bad!, 'utf8')).toBe(policy('10.0.0.0/8'));
  expect(check(['--fix', broken!]).stdout).not.toMatch(/fixed\[|--fix/);
  expect(check(['--fix', '-'], policy('10.0.0.5/8'))).toMatchObject({ status: 2, stdout: '' });
  expect(check(['-'], policy('10.0.0.5/8')).stdout).toContain('0 errors, 1 warning in ');
  for (const file of [bad!, broken!]) rmSync(file);
});

const legacy = (name: string, cidr = '10.0.0.5/8') =>
  `apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: { name: ${name} }\nspec: { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: ${cidr} } }] }] }\n`;

/** Calls `test` with the path of a folder, which is removed afterwards. */
function inFolder(test: (path: (name: string) => string) => void): void {
  const made = mkdtempSync(join(tmpdir(), 'sluice-fix-'));
  try {
    test(name => join(made, name));
  } finally {
    rmSync(made, { recursive: true });
  }
}

test('check --fix writes nothing outside of the paths that were given, and says so', () =>
  inFolder(path => {
    for (const name of ['in', 'out', 'out/d']) mkdirSync(path(name));
    for (const name of ['in/a', 'out/b', 'out/d/c'])
      writeFileSync(path(`${name}.yaml`), legacy(name.at(-1)!));
    symlinkSync('../out/b.yaml', path('in/l.yaml'));
    symlinkSync('../out/d', path('in/d'));
    const { stdout } = check(['--fix', path('in')]);
    const textOf = (name: string) => readFileSync(path(`${name}.yaml`), 'utf8');
    expect(['in/a', 'out/b', 'out/d/c'].map(textOf)).toEqual([
      legacy('a', '10.0.0.0/8'),
      legacy('b'),
      legacy('c'),
    ]);
    for (const [name, target] of [
      ['in/l.yaml', 'out/b.yaml'],
      ['in/d/c.yaml', 'out/d/c.yaml'],
    ] as const)
      expect(stdout).toContain(
        `note: --fix leaves ${path(name)} as it is: it is a link to ${path(target)}, outside of what was given\n`,
      );
    // The link itself is given.
    expect(check(['--fix', path('in/l.yaml')]).stdout).toContain('fixed[legacy-address]');
    expect([textOf('out/b'), lstatSync(path('in/l.yaml')).isSymbolicLink()]).toEqual([
      legacy('b', '10.0.0.0/8'),
      true,
    ]);
  }));

test('check --fix replaces a file once, with all edits and its mode, and leaves nothing beside it', () =>
  inFolder(path => {
    const file = path('a.yaml');
    writeFileSync(file, [legacy('p'), legacy('q')].join('---\n'));
    chmodSync(file, 0o640);
    const before = statSync(file);
    expect(check(['--fix', file]).stdout.match(/^fixed\[/gm)).toHaveLength(2);
    expect(readFileSync(file, 'utf8')).toBe(
      [legacy('p', '10.0.0.0/8'), legacy('q', '10.0.0.0/8')].join('---\n'),
    );
    const after = statSync(file);
    expect([after.mode, after.uid, after.ino === before.ino]).toEqual([before.mode, before.uid, false]);
    expect(readdirSync(path(''))).toEqual(['a.yaml']);
  }));

test('check --fix leaves a file that is not UTF-8 as it is, and says so', () =>
  inFolder(path => {
    const bytes = Buffer.from(`# caf\xe9\n${legacy('p')}`, 'latin1');
    writeFileSync(path('a.yaml'), bytes);
    expect(check(['--fix', path('a.yaml')]).stdout).toContain(
      `note: --fix leaves ${path('a.yaml')} as it is: it is not valid UTF-8\n`,
    );
    expect(readFileSync(path('a.yaml'))).toEqual(bytes);
  }));

test('check reads standard input, and an error is exit code 1', () => {
  const bad = '{ apiVersion: networking.k8s.io/v2, kind: NetworkPolicy, metadata: { name: p } }';
  expect(check(['-'], bad)).toMatchObject({
    status: 1,
    stdout: expect.stringMatching(/^error: standard input:1: /),
  });
});

test('check is written for CI as JUnit and as SARIF, with file, line and kind of each problem', () => {
  const junit = check(['-o', 'junit', '.']).stdout;
  expect(junit).toContain(
    '<testsuite name="policies.yaml" file="policies.yaml" tests="1" failures="1" errors="0">',
  );
  expect(junit).toContain('<testcase name="empty-subject NetworkPolicy team/p" classname="policies.yaml">');
  expect(check(['-o', 'junit', 'workloads.yaml']).stdout).toContain(
    '<testsuites name="sluice check" tests="1" failures="0" errors="0">',
  );
  const { version, runs } = JSON.parse(check(['-o', 'sarif', '.']).stdout);
  expect([version, runs[0].tool.driver.rules]).toEqual(['2.1.0', [{ id: 'empty-subject' }]]);
  expect(runs[0].results).toEqual([
    {
      ruleId: 'empty-subject',
      level: 'warning',
      message: { text: expect.stringMatching(/^NetworkPolicy team\/p: spec\.podSelector selects none/) },
      locations: [
        { physicalLocation: { artifactLocation: { uri: 'policies.yaml' }, region: { startLine: 3 } } },
      ],
    },
  ]);
  const bad = check(['-o', 'sarif', '-'], 'apiVersion: v1\nkind: [');
  expect([bad.status, JSON.parse(bad.stdout).runs[0].results[0]]).toMatchObject([
    1,
    { ruleId: 'error', level: 'error' },
  ]);
});
