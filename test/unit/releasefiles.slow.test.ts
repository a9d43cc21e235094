/** What a release gives to people without a checkout, installed into an empty home and asked a question. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

const ROOT = join(import.meta.dirname, '../..');
const SHOP = join(ROOT, 'examples/shop');
const URL = 'https://github.com/OWNER/sluice/releases/download/v0.1.0';
const IMAGE = 'ghcr.io/owner/sluice@sha256:0123';
const QUESTION = ['explain', 'guest/visitor', 'shop/db:5432', '--manifests', SHOP];
const ANSWER = 'deny   guest/visitor (10.244.1.66) -> shop/db (10.244.1.30):5432/TCP';
/** The oldest that is promised, one between, and the one of this checkout. */
const NODES = ['20.20.2', '22.23.3', process.version.slice(1)];

let folder: string;
let release: string;

/** A Node of that version: its npm package is fetched, as that of this checkout was. Throws Unreachable. */
function nodeOf(wanted: string): string {
  if (wanted === process.version.slice(1)) return process.execPath;
  const made = join(folder, `node-${wanted}`);
  if (existsSync(made)) return join(made, 'package/bin/node');
  const name = `node-linux-${process.arch}`;
  mkdirSync(made);
  const packed = run('npm', ['pack', '--silent', '--pack-destination', made, `${name}@${wanted}`], ONLINE);
  if (packed.status !== 0) {
    rmSync(made, { recursive: true });
    throw new Unreachable(`npm cannot fetch ${name}@${wanted}: ${packed.stderr}`);
  }
  expect(run('tar', ['xzf', join(made, `${name}-${wanted}.tgz`), '-C', made]).status).toBe(0);
  return join(made, 'package/bin/node');
}

/** npm's own settings: whom it trusts, and where it keeps what it has fetched. */
const ONLINE = process.env as Record<string, string>;

class Unreachable extends Error {}

/** Where no registry answers, the test is skipped, and says so. */
function nodeFor(context: TestContext, wanted: string): string {
  try {
    return nodeOf(wanted);
  } catch (error) {
    if (error instanceof Unreachable) context.skip(error.message);
    throw error;
  }
}

function run(command: string, words: readonly string[], env: Record<string, string> = {}) {
  const all = { PATH: '/usr/bin:/bin', HOME: join(folder, 'home'), ...env };
  const maxBuffer = 16 << 20; // a page has a megabyte
  return spawnSync(command, words, { encoding: 'utf8', cwd: folder, env: all, maxBuffer });
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-release-'));
  mkdirSync(join(folder, 'home'));
  release = join(folder, 'release');
  const PATH = `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`;
  const { status, stderr } = run(join(ROOT, 'scripts/release-files'), [release, URL, IMAGE], { PATH });
  if (status !== 0) throw new Error(stderr);
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A folder for PATH in which `node` is this one. */
function pathWith(node: string): string {
  const bin = mkdtempSync(join(folder, 'bin-'));
  symlinkSync(node, join(bin, 'node'));
  return `${bin}:/usr/bin:/bin`;
}

const version = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version as string;

test.for(NODES)('the npm package needs no other package, and answers with Node %s', (wanted, context) => {
  const node = nodeFor(context, wanted);
  const home = mkdtempSync(join(folder, 'npm-'));
  const packed = join(release, `kubectl-sluice-${version}.tgz`);
  const words = ['install', '--global', '--offline', '--no-audit', '--no-fund', '--prefix', home, packed];
  const installed = run('npm', words, { PATH: process.env.PATH!, HOME: home });
  expect([installed.status, installed.stderr]).toEqual([0, expect.not.stringContaining('ERR')]);
  for (const name of ['sluice', 'kubectl-sluice']) {
    const answer = run(join(home, 'bin', name), QUESTION, { PATH: pathWith(node) });
    expect([answer.stdout.split('\n', 1)[0], answer.stderr, answer.status]).toEqual([ANSWER, '', 1]);
  }
});

test.for(NODES)(
  'the archive of krew has what its manifest says, and answers with Node %s through a link',
  (wanted, context) => {
    const node = nodeFor(context, wanted);
    const plugin = parse(readFileSync(join(release, 'sluice.yaml'), 'utf8'));
    const archive = join(release, 'kubectl-sluice.tar.gz');
    const [platform] = plugin.spec.platforms;
    expect([plugin.spec.version, plugin.spec.homepage]).toEqual([
      `v${version}`,
      'https://github.com/OWNER/sluice',
    ]);
    expect([platform.uri, platform.sha256]).toEqual([`${URL}/kubectl-sluice.tar.gz`, sumOf(archive)]);
    const store = mkdtempSync(join(folder, 'krew-'));
    expect(run('tar', ['xzf', archive, '-C', store]).status).toBe(0);
    expect(platform.files.map(({ from }: { from: string }) => from).sort()).toEqual(
      readdirSync(store).sort(),
    );
    const link = join(dirname(store), `kubectl-${Math.random()}`);
    symlinkSync(join(store, platform.bin), link);
    const answer = run(link, QUESTION, { PATH: pathWith(node) });
    expect([answer.stdout.split('\n', 1)[0], answer.stderr, answer.status]).toEqual([ANSWER, '', 1]);
  },
);

test('what is in the archive of krew makes a page of manifests', () => {
  const store = mkdtempSync(join(folder, 'krew-'));
  run('tar', ['xzf', join(release, 'kubectl-sluice.tar.gz'), '-C', store]);
  const words = [join(store, 'sluice.mjs'), 'matrix', '--manifests', SHOP, '-o', 'page'];
  const { status, stdout, stderr } = run(process.execPath, words);
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^<!doctype html>/);
  expect(stdout).toContain('metrics-for-monitoring');
});

test('a machine without Node is told what is missing', () => {
  const store = mkdtempSync(join(folder, 'krew-'));
  run('tar', ['xzf', join(release, 'kubectl-sluice.tar.gz'), '-C', store]);
  const bin = mkdtempSync(join(folder, 'bin-'));
  for (const name of ['sh', 'dirname', 'readlink']) symlinkSync(join('/usr/bin', name), join(bin, name));
  const answer = run(join(store, 'kubectl-sluice'), ['check', '.'], { PATH: bin });
  expect([answer.status, answer.stderr]).toEqual([
    2,
    'sluice: node is not in PATH: Node.js 20 or newer is needed\n',
  ]);
});

test('one executable answers on a machine without Node, and says what it cannot ask', {
  timeout: 300_000,
}, context => {
  const platform = { x64: 'amd64', arm64: 'arm64' }[process.arch as string];
  if (platform === undefined) return context.skip(`no executable is made for ${process.arch}`);
  const PATH = `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`;
  const whole = join(folder, 'whole');
  const words = ['--executables', platform, whole, URL];
  const made = run(join(ROOT, 'scripts/release-files'), words, { ...ONLINE, PATH });
  if (made.stderr.includes('cannot be fetched')) context.skip(made.stderr);
  expect([made.status, readdirSync(whole)]).toEqual([
    0,
    expect.arrayContaining([`sluice-linux-${platform}.tar.gz`]),
  ]);
  expect(run('tar', ['xzf', join(whole, `sluice-linux-${platform}.tar.gz`), '-C', whole]).status).toBe(0);
  const without = { PATH: mkdtempSync(join(folder, 'bin-')) };
  const answer = run(join(whole, 'sluice'), QUESTION, without);
  expect([answer.stdout.split('\n', 1)[0], answer.stderr, answer.status]).toEqual([ANSWER, '', 1]);
  const refused = run(join(whole, 'sluice'), ['drops', '--socket', '/nowhere'], without);
  expect(refused.stderr).toBe(
    'sluice: to ask an agent by its socket needs the whole build: npm ci && npm run build\n',
  );
  expect(readdirSync(whole)).toEqual(expect.arrayContaining(['LICENSE', 'LICENSE.node']));
  expect(readFileSync(join(whole, 'checksums.txt'), 'utf8')).toContain(`  sluice-linux-${platform}.tar.gz\n`);
});

test.each(['amd64;id', 'riscv64', '../x'])('no executable is made for %s', platform => {
  const PATH = `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`;
  const words = ['--executables', platform, join(folder, 'none'), URL];
  const { status, stderr } = run(join(ROOT, 'scripts/release-files'), words, { PATH });
  expect([status, stderr]).toEqual([2, expect.stringContaining(`no executable for "${platform}"`)]);
});

test('it says its commit and day, install.yaml names the image, and checksums are of all files', () => {
  const said = run(process.execPath, [join(release, 'sluice.mjs'), '--version']).stdout;
  expect(said).toMatch(new RegExp(`^${version} \\([0-9a-f]{7,} of \\d{4}-\\d\\d-\\d\\d\\)\\n$`));
  const objects = parseAllDocuments(readFileSync(join(release, 'install.yaml'), 'utf8')).map(each =>
    each.toJS(),
  );
  const agents = objects.find(({ kind }) => kind === 'DaemonSet');
  expect(agents.spec.template.spec.containers.map(({ image }: { image: string }) => image)).toEqual([IMAGE]);
  const sums = readFileSync(join(release, 'checksums.txt'), 'utf8').trimEnd().split('\n');
  const files = readdirSync(release).filter(name => name !== 'checksums.txt');
  expect(sums).toEqual(files.sort().map(name => `${sumOf(join(release, name))}  ${name}`));
});

test('the same commit makes the same bytes, and nothing is written over', () => {
  const PATH = `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`;
  const again = join(folder, 'again');
  const words = [again, URL, IMAGE];
  expect(run(join(ROOT, 'scripts/release-files'), words, { PATH }).status).toBe(0);
  const sums = (at: string) => readFileSync(join(at, 'checksums.txt'), 'utf8');
  expect(sums(again)).toBe(sums(release));
  const refused = run(join(ROOT, 'scripts/release-files'), words, { PATH });
  expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('is there already')]);
});

test('without an image with its digest there is no install.yaml, whose image could be anybody’s', () => {
  const PATH = `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`;
  const script = join(ROOT, 'scripts/release-files');
  const bare = join(folder, 'bare');
  expect(run(script, [bare, URL], { PATH }).status).toBe(0);
  expect(readdirSync(bare)).not.toContain('install.yaml');
  const refused = run(script, [join(folder, 'tag'), URL, 'ghcr.io/owner/sluice:0.1.0'], { PATH });
  expect([refused.status, existsSync(join(folder, 'tag'))]).toEqual([2, false]);
});

function sumOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
