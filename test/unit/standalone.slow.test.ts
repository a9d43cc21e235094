/** The command line as one file: what people without a node run, on the oldest Node that still lives. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { ExecServer } from '../support/api/execserver.ts';
import { SRC } from '../support/importgraph.ts';

const ROOT = join(SRC, '..');
const SHOP = join(ROOT, 'examples/shop');
let folder: string;
let bundle: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-bundle-'));
  bundle = join(folder, 'dist/sluice.mjs');
  const rolldown = join(ROOT, 'node_modules/rolldown/bin/cli.mjs');
  execFileSync(process.execPath, [rolldown, '-c', 'rolldown.config.mjs', '-o', bundle], {
    cwd: ROOT,
    stdio: 'pipe',
  });
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** This Node, and the one that the machine came with: that is the older one. */
const NODES = [process.execPath, '/usr/bin/node'].filter(existsSync);

const run = (node: string, ...words: string[]) =>
  spawnSync(node, [bundle, ...words], {
    encoding: 'utf8',
    cwd: folder,
    env: { PATH: '/usr/bin', HOME: folder },
  });

test.each(NODES)('%s answers questions by one file, with no library in reach', node => {
  const denied = run(node, 'explain', 'guest/visitor', 'shop/db:5432', '--manifests', SHOP);
  expect([denied.stdout.split('\n', 1)[0], denied.stderr, denied.status]).toEqual([
    'deny   guest/visitor (10.244.1.66) -> shop/db (10.244.1.30):5432/TCP',
    '',
    1,
  ]);
  expect(run(node, 'check', SHOP)).toMatchObject({ status: 0, stdout: expect.stringMatching(/^ok: /) });
  expect(run(node, 'matrix', '--manifests', SHOP)).toMatchObject({ status: 0, stderr: '' });
  expect(run(node, '--help').stdout).toContain('explain');
  expect(run(node, '--version').stdout.trim()).toBe(
    JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version,
  );
});

test('what only a node can do says what it needs, where there is no build around the file', () => {
  expect(run(NODES[0]!, 'uninstall')).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(
      /^sluice: this command needs the whole build, .*npm ci && npm run build\n$/,
    ),
  });
  expect(run(NODES[0]!, 'status')).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^sluice: no agent on this node .* and no kubeconfig: name --kubeconfig /),
  });
  expect(run(NODES[0]!, 'status', '--socket', '/tmp/none')).toMatchObject({
    status: 2,
    stderr: 'sluice: to ask an agent by its socket needs the whole build: npm ci && npm run build\n',
  });
});

test.each(NODES)('%s asks the nodes of a cluster by one file', async node => {
  const server = await new ExecServer().start();
  onTestFinished(() => server.close());
  const words = [bundle, 'inspect', '--node', 'n1', '--kubeconfig', server.kubeconfig];
  const child = spawn(node, words, { cwd: folder, env: { PATH: '/usr/bin', HOME: folder } });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]);
  await expect.poll(() => server.sessions.length, { timeout: 20_000 }).toBe(1);
  expect(server.sessions[0]!.words.slice(0, 3)).toEqual(['keepcaps', 'sluice', 'inspect']);
  server.sessions[0]!.say('shop/db  10.0.1.7\n');
  server.sessions[0]!.exit(1);
  expect(await ended).toEqual([[1, null], 'shop/db  10.0.1.7\n', '']);
});

test('./sluice starts it from any folder, and says what is missing', () => {
  cpSync(join(ROOT, 'sluice'), join(folder, 'sluice'));
  const started = spawnSync(join(folder, 'sluice'), ['--version'], { cwd: '/', encoding: 'utf8' });
  expect([started.stderr, started.status]).toEqual(['', 0]);
  const elsewhere = mkdtempSync(join(tmpdir(), 'sluice-none-'));
  cpSync(join(ROOT, 'sluice'), join(elsewhere, 'sluice'));
  const missing = spawnSync(join(elsewhere, 'sluice'), [], { encoding: 'utf8' });
  rmSync(elsewhere, { recursive: true });
  expect([missing.status, missing.stderr]).toEqual([2, expect.stringContaining('npm run build')]);
});

test('the file imports nothing but what Node has, and is small', () => {
  const source = readFileSync(bundle, 'utf8');
  const imported = [...source.matchAll(/(?:^|[;\n])import[^;"'`]*from"([^"]+)"/g)].map(([, name]) => name!);
  const known = new Set([...builtinModules, ...builtinModules.map(name => `node:${name}`)]);
  expect(imported.filter(name => !known.has(name))).toEqual([]);
  expect(source.length).toBeLessThan(900_000);
});

test('as kubectl-sluice in the path it is a plugin of kubectl, through links to links', () => {
  mkdirSync(join(folder, 'bin'));
  symlinkSync(join(folder, 'sluice'), join(folder, 'linked'));
  symlinkSync('../linked', join(folder, 'bin/kubectl-sluice'));
  const plugin = spawnSync('kubectl-sluice', ['check', SHOP], {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${join(folder, 'bin')}:${process.env.PATH}` },
  });
  expect([plugin.status, plugin.stdout]).toEqual([0, expect.stringMatching(/^ok: /)]);
});

/** What a Mac has not: the platform's name, native modules, and all that a kernel of Linux shows as files. */
const AS_MAC = `data:text/javascript,${encodeURIComponent(`
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  Object.defineProperty(process, 'platform', { value: 'darwin' });
  process.dlopen = () => { throw new Error('a native module was loaded'); };
  const isLinux = path => /^\\/(proc|sys|dev|run|etc)(\\/|$)/.test(String(path)) && path !== '/dev/null';
  for (const api of [fs, fs.promises])
    for (const [name, call] of Object.entries(api))
      if (typeof call === 'function' && Object.getOwnPropertyDescriptor(api, name)?.writable)
        api[name] = function (path, ...rest) {
          if (isLinux(path)) { fs.writeSync(2, name + ' of ' + path); process.exit(99); }
          return call.call(this, path, ...rest);
        };
  syncBuiltinESMExports();
`)}`;

const QUESTIONS = [
  ['explain', 'guest/visitor', 'shop/db:5432', '--fix', '--manifests', SHOP],
  [
    'explain',
    'deploy/web',
    'svc/web:80',
    '-n',
    'shop',
    '--manifests',
    join(ROOT, 'test/fixtures/questions.yaml'),
  ],
  ['check', SHOP],
  ['matrix', '--manifests', SHOP, '-o', 'html'],
  ['diff', SHOP, join(ROOT, 'examples/user-stories/1-deny'), '-o', 'md'],
  ['test', join(ROOT, 'examples/tests')],
  ['version'],
  ['completion', 'zsh'],
  ['--help'],
];

test.each(QUESTIONS)('%s %s answers on a Mac, as far as anybody here can tell', (...words) => {
  const here = run(process.execPath, ...words);
  const mac = spawnSync(process.execPath, ['--import', AS_MAC, bundle, ...words], {
    encoding: 'utf8',
    cwd: folder,
    env: { PATH: '/usr/bin', HOME: folder },
  });
  expect([mac.status, mac.stderr, mac.stdout]).toEqual([here.status, here.stderr, here.stdout]);
});

test('without permission for native modules, other programs, threads and writing it answers the same', () => {
  const words = ['explain', 'guest/visitor', 'shop/db:5432', '--manifests', SHOP];
  const may = [`--allow-fs-read=${folder}`, `--allow-fs-read=${SHOP}`];
  const { stdout, stderr } = spawnSync(process.execPath, ['--permission', ...may, bundle, ...words], {
    encoding: 'utf8',
  });
  expect([stdout, stderr]).toEqual([run(process.execPath, ...words).stdout, '']);
});
