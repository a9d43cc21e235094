/** What a release gives to people without a checkout, installed into an empty home and asked a question. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

const ROOT = join(import.meta.dirname, '../..');
const SHOP = join(ROOT, 'examples/shop');
const URL = 'https://github.com/OWNER/sluice/releases/download/v0.1.0';
const IMAGE = 'ghcr.io/owner/sluice@sha256:0123';
const QUESTION = ['explain', 'guest/visitor', 'shop/db:5432', '--manifests', SHOP];
const ANSWER = 'deny   guest/visitor (10.244.1.66) -> shop/db (10.244.1.30):5432/TCP';
/** This Node, and the one that the machine came with: that is the older one. */
const NODES = [process.execPath, '/usr/bin/node'].filter(existsSync);

let folder: string;
let release: string;

function run(command: string, words: readonly string[], env: Record<string, string> = {}) {
  const all = { PATH: '/usr/bin:/bin', HOME: join(folder, 'home'), ...env };
  return spawnSync(command, words, { encoding: 'utf8', cwd: folder, env: all });
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

test.each(NODES)('the npm package needs no other package, and answers with %s', node => {
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

test.each(NODES)(
  'the archive of krew has what its manifest says, and answers with %s through a link',
  node => {
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
