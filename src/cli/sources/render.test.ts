/** What a stranger's chart may do when it is rendered: nothing but be rendered. */
import { spawnSync } from 'node:child_process';
import {
  createReadStream,
  existsSync,
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
import { renderChart } from './render.ts';

let root: string;
let chart: string;
const PATH = process.env.PATH;
const ISOLATED = spawnSync('unshare', ['--user', '--map-root-user', '--net', 'true']).status === 0;
const LIMITS = { seconds: 20, bytes: 1_000_000, files: 100 };

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

/** A helm that does what a chart might make one do. */
function helm(script: string): void {
  writeFileSync(join(root, 'helm'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

test('renderChart() runs helm on a copy, with a release that is named after the chart', async () => {
  writeFileSync(join(chart, 'templates/a.yaml'), 'kind: A\n');
  helm('echo "$@"; pwd; cat chart/templates/*; echo x > chart/templates/new.yaml');
  const [words, folder, text] = (await renderChart(chart, LIMITS)).split('\n');
  expect([words, text]).toEqual(['template my-chart ./chart', 'kind: A']);
  expect([existsSync(folder!), readdirSync(join(chart, 'templates'))]).toEqual([false, ['a.yaml']]);
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
  const text = await renderChart(chart, LIMITS).finally(() => delete process.env.SLUICE_TEST_TOKEN);
  expect(text).toContain('chart\nchart/Chart.yaml\nchart/templates\n');
  expect(text).not.toContain('secret');
  expect(text).toContain('KUBECONFIG=/dev/null');
});

test('renderChart() has no network', async context => {
  if (!ISOLATED) context.skip('users have no namespaces here');
  const server = createServer(socket => socket.end()).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  const node = `"${process.execPath}" -e 'require("net").connect(${port}, "127.0.0.1").on("connect", () => console.log("open")).on("error", e => console.log(e.code))'`;
  helm(node);
  expect(await renderChart(chart, LIMITS).finally(() => server.close())).toMatch(/^E/);
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
  await expect(renderChart(chart, { ...LIMITS, ...limits })).rejects.toThrow(why);
});

test.for<[string, string, Partial<typeof LIMITS>, RegExp]>([
  ['that fails', 'exit 1', {}, /^helm ended with exit code 1$/],
  ['that is killed', 'sleep 600', { seconds: 0.2 }, /^it takes more than/],
])('renderChart() leaves no process behind of a helm %s', async ([_, end, limits, why], context) => {
  if (!ISOLATED) context.skip('users have no namespaces here, and a process may leave its group');
  const pipe = join(root, 'pipe');
  spawnSync('mkfifo', [pipe]);
  // The pipe ends when the last process that may write has ended.
  const ended = new Promise<void>(resolve =>
    createReadStream(pipe)
      .resume()
      .on('end', () => resolve()),
  );
  helm(`exec 9>"${pipe}"; setsid sleep 600 & ${end}`);
  await expect(renderChart(chart, { ...LIMITS, ...limits })).rejects.toThrow(why);
  await ended;
});

test('check --render reads what helm prints, and says which chart it could not render', () => {
  mkdirSync(join(root, 'bad/templates'), { recursive: true });
  writeFileSync(join(root, 'bad/Chart.yaml'), 'name: bad\n');
  helm(
    `[ "$2" = bad ] && { echo "Error: bad" >&2; exit 1; }; echo 'kind: Deployment\napiVersion: apps/v1\nmetadata: { name: web }\nspec: { template: { metadata: { labels: { a: b } }, spec: { containers: [] } } }'`,
  );
  const main = join(import.meta.dirname, '../main.ts');
  const check = (...words: string[]) =>
    spawnSync(process.execPath, [main, 'check', '.', ...words], { encoding: 'utf8', cwd: root });
  const { status, stdout } = check('--render');
  expect(status).toBe(1);
  expect(stdout).toContain('error: helm template bad: cannot be rendered: Error: bad; nothing of it is read');
  expect(stdout).toContain('read 1 workload and 0 policies');
  expect(stdout).not.toContain('note:');
  expect(check('--render', '--fix').status).toBe(2);
  process.env.PATH = '/nowhere';
  expect(check('--render')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('--render needs helm'),
  });
});
