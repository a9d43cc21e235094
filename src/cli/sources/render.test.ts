/** What a stranger's chart or kustomization may do when it is rendered: nothing but be rendered. */
import { spawnSync } from 'node:child_process';
import {
  createReadStream,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Renderer } from './render.ts';
import { isolates } from './sandbox.ts';

let root: string;
let chart: string;
const PATH = process.env.PATH;
const LIMITS = { seconds: 20, allSeconds: 60, bytes: 1_000_000, files: 100 };

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sluice-render-test-'));
  chart = join(root, 'My Chart');
  mkdirSync(join(chart, 'templates'), { recursive: true });
  writeFileSync(join(chart, 'Chart.yaml'), 'name: a\n');
  process.env.PATH = `${root}:${PATH}`;
});

afterEach(() => {
  process.env.PATH = PATH;
  rmSync(root, { recursive: true, force: true });
});

/** A program that does what a chart or a kustomization might make one do. */
function program(name: string, script: string): void {
  writeFileSync(join(root, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

const helm = (script: string) => program('helm', script);

const renderChart = (limits: Partial<typeof LIMITS> = {}) =>
  new Renderer({ ...LIMITS, ...limits }).renderChart(chart);

test('renderChart() runs helm on a copy, with a release that is named after the chart', async () => {
  writeFileSync(join(chart, 'templates/a.yaml'), 'kind: A\n');
  helm('echo "$@"; cat chart/templates/*; echo x > chart/templates/new.yaml');
  expect((await renderChart()).split('\n')).toEqual(['template my-chart ./chart', 'kind: A', '']);
  expect(readdirSync(join(chart, 'templates'))).toEqual(['a.yaml']);
});

test('renderChart() follows no link of the chart, and gives helm nothing of the environment', async () => {
  writeFileSync(join(root, 'secret'), 'secret');
  mkdirSync(join(root, 'outside'));
  writeFileSync(join(root, 'outside/a.yaml'), 'secret');
  symlinkSync('../../secret', join(chart, 'templates/link.yaml'));
  symlinkSync('../../outside', join(chart, 'templates/folder'));
  spawnSync('mkfifo', [join(chart, 'templates/pipe.yaml')]);
  process.env.SLUICE_TEST_TOKEN = 'secret';
  helm('find chart | sort; find chart -type f -exec cat {} +; env');
  const text = await renderChart().finally(() => delete process.env.SLUICE_TEST_TOKEN);
  expect(text).toContain('chart\nchart/Chart.yaml\nchart/templates\n');
  expect(text).not.toContain('secret');
  expect(text).toContain('KUBECONFIG=/dev/null');
});

test('what renders has no network, and sees no file but its own and those of the system', async context => {
  if (!isolates()) context.skip('users have no namespaces here');
  const server = createServer(socket => socket.end('open')).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  const connect = `bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3' 2>&1`;
  helm(`${connect}; ls / /tmp; cat /etc/shadow "${join(root, 'helm')}"; true`);
  const text = await renderChart().finally(() => server.close());
  expect(text).toMatch(/unreachable|annot assign/);
  expect(text).toContain('/:\nbin\nchart\ndev\nlib\n');
  expect(text).toMatch(/\nprogram\ntmp\nusr\n\n\/tmp:\n$/);
});

test.each<[string, string, Partial<typeof LIMITS>, RegExp]>([
  [
    'takes too long',
    'trap "" TERM; sleep 600 & sleep 600',
    { seconds: 0.2 },
    /^it takes more than 0.2 seconds$/,
  ],
  [
    'prints without end',
    'while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done',
    {},
    /^it prints more than/,
  ],
  ['has too many files', 'true', { files: 1 }, /^it has more files than are copied$/],
  ['has files that are too large', 'true', { bytes: 3 }, /^it has more files than are copied$/],
  ['is none', 'echo "Error: no Chart.yaml" >&2; echo more >&2; exit 1', {}, /^Error: no Chart.yaml$/],
])('renderChart() says of a chart that it %s', async (_, script, limits, why) => {
  helm(script);
  await expect(renderChart(limits)).rejects.toThrow(why);
});

const repository = () => join(root, 'repo');

/** Beside a folder that it may not see. */
function kustomization(text = 'resources: [web.yaml]'): void {
  mkdirSync(join(repository(), 'prod'), { recursive: true });
  writeFileSync(join(root, 'secret'), 'secret');
  writeFileSync(join(repository(), 'prod/kustomization.yaml'), text);
  writeFileSync(join(repository(), 'prod/web.yaml'), WEB);
}

const WEB =
  'kind: Deployment\napiVersion: apps/v1\nmetadata: { name: web }\nspec: { template: { metadata: { labels: { a: b } }, spec: { containers: [] } } }\n';

const renderKustomization = (limits: Partial<typeof LIMITS> = {}) =>
  new Renderer({ ...LIMITS, ...limits }).renderKustomization(join(repository(), 'prod'), repository());

test.for([
  ['kustomize', 'build'],
  ['kubectl', 'kustomize'],
])(
  'renderKustomization() runs %s, which may read the whole folder that is given, and no other',
  async ([name, word], context) => {
    if (!isolates()) context.skip('users have no namespaces here');
    kustomization();
    symlinkSync('../../secret', join(repository(), 'prod/link'));
    process.env.PATH = `${root}:/usr/bin:/bin`;
    program(
      name!,
      'echo "$@"; cat "$2/web.yaml" "$2/link" "$2/../../secret"; echo x >"$2/new"; which git; true',
    );
    expect(await renderKustomization()).toBe(`${word} /files/prod\n${WEB}`);
    expect(readdirSync(join(repository(), 'prod')).sort()).toEqual([
      'kustomization.yaml',
      'link',
      'web.yaml',
    ]);
  },
);

test('renderKustomization() of an overlay reads its base elsewhere in the git repository', async context => {
  if (!isolates()) context.skip('users have no namespaces here');
  kustomization();
  mkdirSync(join(repository(), '.git'));
  program('kustomize', 'echo "$2"; ls -d "$2"/../*');
  const prod = join(repository(), 'prod');
  expect(await new Renderer(LIMITS).renderKustomization(prod, prod)).toBe(
    '/files/prod\n/files/prod/../prod\n',
  );
});

test.for<[string, string, Partial<typeof LIMITS>, RegExp]>([
  ['that fails', 'exit 1', {}, /^kustomize ended with exit code 1$/],
  ['that is killed', 'while :; do echo a; done', { bytes: 100 }, /^it prints more than/],
])('renderKustomization() leaves no process behind of one %s', async ([_, end, limits, why], context) => {
  if (!isolates()) context.skip('users have no namespaces here');
  kustomization();
  const pipe = join(repository(), 'pipe');
  spawnSync('mkfifo', [pipe]);
  // The pipe ends when the last process that may write has ended.
  const ended = new Promise<void>(resolve =>
    createReadStream(pipe)
      .resume()
      .on('end', () => resolve()),
  );
  program('kustomize', `exec 9>/files/pipe; setsid sleep 600 & ${end}`);
  await expect(renderKustomization(limits)).rejects.toThrow(why);
  await ended;
});

test('a reason names files as the caller does, and is short', async context => {
  if (!isolates()) context.skip('users have no namespaces here');
  kustomization();
  program('kustomize', 'echo "Error: no /files/prod/x:\n$(printf %3000s | tr " " x) at last" >&2; exit 1');
  const { message } = (await renderKustomization().catch(error => error)) as Error;
  expect(message).toMatch(/^Error: no \S+\/repo\/prod\/x: x+ … x+ at last$/);
  expect(message.length).toBe(303);
  program('kustomize', 'echo "out of memory" >&2; echo "goroutine 1" >&2; exit 1');
  await expect(renderKustomization()).rejects.toThrow(/^out of memory$/);
});

test('nothing is rendered when the time for all is over', async () => {
  helm('true');
  await expect(renderChart({ allSeconds: 0 })).rejects.toThrow(
    /^all that is rendered takes more than 0 seconds$/,
  );
});

function check(...words: string[]) {
  const main = join(import.meta.dirname, '../main.ts');
  return spawnSync(process.execPath, [main, 'check', '.', ...words], { encoding: 'utf8', cwd: root });
}

test('check --render reads what helm prints, and says which chart it could not render', () => {
  mkdirSync(join(root, 'bad/templates'), { recursive: true });
  writeFileSync(join(root, 'bad/Chart.yaml'), 'name: bad\n');
  helm(`[ "$2" = bad ] && { echo "Error: bad" >&2; exit 1; }; echo '${WEB}'`);
  const { status, stdout } = check('--render');
  expect(status).toBe(1);
  expect(stdout).toContain('error: helm template bad: cannot be rendered: Error: bad; nothing of it is read');
  expect(stdout).toContain('read 1 workload and 0 policies');
  expect(stdout).not.toContain('note:');
  expect(check('--render', '--fix').status).toBe(2);
  process.env.PATH = '/nowhere';
  expect(check('--render')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('--render needs helm, kustomize or kubectl'),
  });
});

test('check --render reads what kustomize prints, and the files of a kustomization that it cannot build', context => {
  if (!isolates()) context.skip('users have no namespaces here');
  rmSync(chart, { recursive: true });
  kustomization('resources: [web.yaml, gone.yaml]\npatches: [{ path: patch.yaml }]');
  writeFileSync(join(repository(), 'prod/patch.yaml'), 'kind: NetworkPolicy\n');
  program('kustomize', `echo '${WEB.replace('name: web', 'name: web, namespace: shop')}'`);
  expect(check('--render', '-n', 'none').stdout).toBe(
    'ok: 0 namespaces, 0 nodes, 0 pods, 1 workload, 0 policies\nread 1 workload and 0 policies in 1 document of 1 file; left out: 1 file without a Kubernetes object\n',
  );
  program('kustomize', 'echo "no gone.yaml" >&2; exit 1');
  const { stdout } = check('--render');
  expect(stdout).toContain(
    'error: kustomize build repo/prod: cannot be rendered: no gone.yaml; its files are read as they are',
  );
  expect(stdout).toContain('they are patches of a kustomization: repo/prod/patch.yaml');
  expect(stdout).toContain('read 1 workload');
});

test('check --render says what it cannot render here, by helm, by kustomize, and without namespaces of users', () => {
  kustomization();
  helm(`echo '${WEB}'`);
  process.env.PATH = root;
  expect(check('--render').stdout).toContain('note: kustomization repo/prod is not rendered');
  rmSync(join(root, 'helm'));
  program('kustomize', `echo '${WEB}'`);
  const { stdout } = check('--render');
  expect(stdout).toContain('kustomize build repo/prod: cannot be rendered: users have no namespaces here');
  expect(stdout).toContain('note: chart My Chart is not rendered');
});
