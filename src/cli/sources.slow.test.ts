/**
 * Promises of the sources of a question: a file that cannot be read gives no verdict, and -n is the namespace of names
 * without one.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

let folder: string;

const POD =
  '{ apiVersion: v1, kind: Pod, metadata: { name: NAME, labels: { app: NAME } }, status: { podIP: ADDRESS } }';
const pod = (name: string, address: string) => POD.replaceAll('NAME', name).replace('ADDRESS', address);
const POLICY = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: web }
spec: { podSelector: { matchLabels: { app: web } } }
`;
const BAD = `${POLICY}---\na: [`;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-sources-'));
  writeFileSync(
    join(folder, 'pods.yaml'),
    [pod('web', '10.0.0.1'), pod('db', '10.0.0.2'), POLICY].join('\n---\n'),
  );
  writeFileSync(join(folder, 'bad.yaml'), BAD);
  writeFileSync(join(folder, 'a.test.yaml'), 'flows: [web -> db:80 allow]\n');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function sluice(...words: string[]) {
  const main = join(import.meta.dirname, 'main.ts');
  return spawnSync(process.execPath, [main, ...words], { encoding: 'utf8', cwd: folder });
}

const BOTH = ['--manifests', 'pods.yaml', '--manifests', 'bad.yaml'];

test.each([
  [['explain', 'web', 'db:80', ...BOTH], 'stdout', 'undecided  default/web'],
  [['matrix', ...BOTH], 'stderr', 'nothing of it is read'],
  [['matrix', '-o', 'json', ...BOTH], 'stdout', 'nothing of it is read'],
  [['matrix', '-o', 'html', ...BOTH], 'stdout', 'not all policies could be read'],
  [
    ['diff', 'pods.yaml', 'bad.yaml', '--with', 'pods.yaml'],
    'stderr',
    'changes cannot be determined: bad.yaml:',
  ],
  [['test', 'a.test.yaml', ...BOTH], 'stdout', 'not all policies could be read'],
] as const)('a file that cannot be read is exit code 2, and no verdict: %j', (words, stream, text) => {
  const said = sluice(...words);
  expect([said.status, said[stream]]).toEqual([2, expect.stringContaining(text)]);
});

test('what holds neither pods nor workloads has no comparison and no matrix', () => {
  writeFileSync(join(folder, 'policy.yaml'), POLICY);
  const diff = sluice('diff', 'policy.yaml', 'policy.yaml');
  expect([diff.status, diff.stdout, diff.stderr]).toEqual([2, '', expect.stringContaining('--with PATH')]);
  expect(sluice('diff', 'policy.yaml', 'policy.yaml', '--with', 'pods.yaml').status).toBe(0);
  expect(sluice('matrix', '--manifests', 'policy.yaml')).toMatchObject({
    status: 2,
    stdout: '',
    stderr: 'sluice: there is no pod and no workload in the manifests, so there is no matrix\n',
  });
  expectPageRefused('policy.yaml');
  const misnamed = sluice('matrix', '--manifests', 'pods.yaml', '-l', 'app=wbe');
  expect(misnamed.stderr).toContain('no pod and no workload with these labels in the manifests');
  // A legend says what the absence of a line means, and here nothing was asked of.
  expect(misnamed.stdout).toBe('');
  expect(sluice('matrix', '--manifests', 'pods.yaml', '-l', 'app=web').stderr).toBe('');
});

function expectPageRefused(manifests: string) {
  const { status, stdout, stderr } = sluice('matrix', '--manifests', manifests);
  expect(sluice('matrix', '--manifests', manifests, '-o', 'page')).toMatchObject({ status, stdout, stderr });
}

test('a namespace that nothing is in has no matrix', () => {
  writeFileSync(
    join(folder, 'shop.yaml'),
    pod('db', '10.0.0.3').replace('name: db', 'name: db, namespace: shop'),
  );
  const { status, stdout, stderr } = sluice('matrix', '--manifests', 'shop.yaml', '-n', 'shp');
  expect([status, stdout]).toEqual([2, '']);
  expect(stderr).toContain('there is no namespace shp in the manifests; did you mean shop?');
  expect(sluice('matrix', '--manifests', 'shop.yaml', '-n', 'shop').status).toBe(0);
});

test('a folder that holds nothing is named, whatever is asked of it', () => {
  mkdirSync(join(folder, 'empty'));
  const nothing = 'empty holds no object that Sluice reads\n';
  const asked = sluice('explain', 'web', 'db:80', '--manifests', 'empty');
  expect([asked.status, asked.stderr]).toEqual([
    2,
    expect.stringMatching(/^note: empty holds no object.*\nsluice: there is no pod/),
  ]);
  expect(sluice('matrix', '--manifests', 'empty')).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringMatching(/^note: empty holds no object.*\nsluice: there is no pod and no workload/),
  });
  expectPageRefused('empty');
  expect(sluice('check', 'empty')).toMatchObject({ status: 2, stderr: `sluice: ${nothing}` });
  expect(sluice('diff', 'empty', 'pods.yaml')).toMatchObject({ status: 1, stderr: `note: ${nothing}` });
  const main = join(import.meta.dirname, 'main.ts');
  const { stderr } = spawnSync(process.execPath, [main, 'check', '-'], { encoding: 'utf8', input: '' });
  expect(stderr).toBe('sluice: standard input holds no object that Sluice reads\n');
});

test('@cluster is what kubectl would ask, and no agent', () => {
  const main = join(import.meta.dirname, 'main.ts');
  const { status, stderr } = spawnSync(process.execPath, [main, 'diff', '@cluster', 'pods.yaml'], {
    encoding: 'utf8',
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder },
  });
  const config = join(folder, '.kube', 'config');
  expect([status, stderr]).toEqual([2, `sluice: the kubeconfig cannot be used: ${config} does not exist\n`]);
});

test.each([
  [['matrix', '--nope'], 'matrix'],
  [['suggest'], 'suggest'],
  [['explain', 'a', 'b', 'c'], 'explain'],
])('words that do not fit a command name its help: %j', (words, command) => {
  expect(sluice(...words).stderr).toContain(`(run sluice ${command} --help for more)`);
});

test('a reader that has enough changes no answer', () => {
  const words = ['explain', 'web', 'db:80', '--manifests', 'pods.yaml'];
  const denied = ['explain', 'db', 'web:80', '--manifests', 'pods.yaml'];
  const unread = (...asked: string[]) => {
    const script = '"$@" | true; exit "$PIPESTATUS"';
    const main = join(import.meta.dirname, 'main.ts');
    const { status, stderr } = spawnSync('bash', ['-c', script, 'bash', process.execPath, main, ...asked], {
      encoding: 'utf8',
      cwd: folder,
    });
    return [status, stderr];
  };
  expect(unread(...words)).toEqual([sluice(...words).status, '']);
  expect(unread(...denied)).toEqual([1, '']);
  expect(unread('matrix', ...BOTH)[0]).toBe(2);
});

test('an answer that cannot be written is trouble, in one line', () => {
  const main = join(import.meta.dirname, 'main.ts');
  const full = openSync('/dev/full', 'w');
  for (const words of [['explain', 'web', 'db:80'], ['matrix']]) {
    const { status, stderr } = spawnSync(process.execPath, [main, ...words, '--manifests', 'pods.yaml'], {
      encoding: 'utf8',
      cwd: folder,
      stdio: ['ignore', full, 'pipe'],
    });
    expect([words, status]).toEqual([words, 2]);
    expect(stderr).toMatch(/sluice: cannot write the answer: .*ENOSPC.*\n$/);
    expect(stderr).not.toContain('    at ');
  }
  closeSync(full);
});

test.each([
  [['explain', '--flows', 'gone', '--manifests', 'pods.yaml']],
  [['explain', 'web', 'db:80', '--dump', 'gone']],
  [['explain', 'web', 'db:80', '--manifests', 'gone']],
  [['diff', 'pods.yaml', 'pods.yaml', '--connections', 'gone']],
  [['replay', 'gone', '--manifests', 'pods.yaml']],
  [['test', 'gone']],
  [['check', 'gone']],
])('a file that is not there is named, in our own words: %j', words => {
  const { status, stderr } = sluice(...words);
  expect([status, stderr]).toEqual([2, 'sluice: cannot read gone: it does not exist\n']);
});

test('a test that brings all that it asks of is told of no file that holds nothing', () => {
  const main = join(import.meta.dirname, 'main.ts');
  const own = pod('web', '10.0.0.1');
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, 'test', '-', '-o', 'json'], {
    encoding: 'utf8',
    cwd: folder,
    input: `flows: [web -> db:80 allow]\nmanifests: [${own}, ${pod('db', '10.0.0.2')}]`,
  });
  expect([status, stderr]).toEqual([0, '']);
  expect(JSON.parse(stdout).notes).toEqual([]);
});

test('matrix of a path as its sisters take it says how it takes one', () => {
  expect(sluice('matrix', 'pods.yaml')).toMatchObject({
    status: 2,
    stdout: '',
    stderr:
      'sluice: to read manifests, write their path behind --manifests: sluice matrix --manifests pods.yaml\n',
  });
});

test('where there is nobody at all, nobody is said to be called otherwise', () => {
  writeFileSync(join(folder, 'policy.yaml'), POLICY);
  expect(sluice('explain', 'web', 'db:80', '--manifests', 'policy.yaml').stderr).toContain(
    'there is no pod default/db, nor any other: name the manifests of pods and workloads too',
  );
});

test('a test may come from standard input', () => {
  const main = join(import.meta.dirname, 'main.ts');
  const asked = (verdict: string) =>
    spawnSync(process.execPath, [main, 'test', '-', '--manifests', 'pods.yaml'], {
      encoding: 'utf8',
      cwd: folder,
      input: `flows: [web -> db:80 ${verdict}]`,
    });
  expect(asked('allow')).toMatchObject({
    status: 0,
    stdout: 'ok    standard input\nok: 1 flow in 1 file\n',
  });
  expect(asked('deny')).toMatchObject({
    status: 1,
    stdout: expect.stringMatching(/^FAIL {2}standard input\n/),
  });
});

test('explain --flows of nothing is trouble', () => {
  const { status, stderr } = sluice('explain', '--flows', '/dev/null', '--manifests', 'pods.yaml');
  expect([status, stderr]).toEqual([2, expect.stringContaining('/dev/null holds no flow')]);
});

test('explain -o json says what it lacks', () => {
  const { stdout } = sluice('explain', 'web', 'db:80', '-o', 'json', ...BOTH);
  expect(JSON.parse(stdout)).toMatchObject({
    verdict: 'undecided',
    families: { ipv4: 'undecided' },
    cases: [{ verdict: 'undecided', reason: expect.stringContaining('(allow: ') }],
    notes: [expect.stringContaining('nothing of it is read')],
  });
});

test('a policy of which nothing is left to judge by is no verdict either', () => {
  writeFileSync(join(folder, 'lost.yaml'), POLICY.replace('name: web', 'name: "no name"'));
  const { status, stdout } = sluice(
    'explain',
    ...['web', 'db:80', '--manifests', 'pods.yaml', '--manifests', 'lost.yaml'],
  );
  expect([status, stdout]).toEqual([2, expect.stringContaining('undecided')]);
});

test('-n is the namespace of objects that name none, as kubectl apply takes them', () => {
  const asked = (...words: string[]) =>
    sluice('explain', 'db', 'web:80', '--manifests', 'pods.yaml', ...words);
  expect(asked().stdout).toContain('NetworkPolicy default/web');
  expect(asked('-n', 'shop').stdout).toContain('NetworkPolicy shop/web');
});
