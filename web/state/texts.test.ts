/** Links, patches, commands and lines: texts that the page makes of texts. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { runs } from '../../test/support/seed.ts';
import { linkText, packed } from '../core/pack.ts';
import { Session } from '../core/session.ts';
import { blockOf } from './lines.ts';
import { unpacked } from './link.ts';
import { kubectlCommand, patchText } from './patch.ts';

test('a link has the manifests as they were opened and as they are, whatever is in them', async () => {
  const file = fc.tuple(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }));
  const files = fc.uniqueArray(file, { selector: ([name]) => name });
  await fc.assert(
    fc.asyncProperty(files, files, async (base, edited) => {
      expect(await unpacked(await packed({ base, edited }))).toEqual({ base, edited });
    }),
    { numRuns: runs(300) },
  );
});

test.each(['', 'AAAA', '!!', 'eJw'])('a link that says %j is refused', async text => {
  await expect(unpacked(text)).rejects.toThrow();
});

test('a link that unpacks to very much is refused before it takes memory', async () => {
  const text = await packed({ base: [['a', ' '.repeat(40 * 2 ** 20)]] });
  expect(text.length).toBeLessThan(100_000);
  await expect(unpacked(text)).rejects.toThrow('more than 8 MB');
  await expect(unpacked('A'.repeat(200_001))).rejects.toThrow('longer than 200,000 characters');
});

test('a link of very many files is refused: each would be a tab', async () => {
  const files = Array.from({ length: 5_001 }, (_, i) => [`${i}`, ''] as const);
  await expect(unpacked(await packed({ base: files }))).rejects.toThrow('more than 5,000 files');
  await expect(unpacked(await packed({ base: [], edited: files }))).rejects.toThrow('more than 5,000 files');
  expect((await unpacked(await packed({ base: files.slice(1) }))).base).toHaveLength(5_000);
});

test('a link with two files of one name is refused: one would be shown, and not judged', async () => {
  const files = ['old', 'new'].map(text => ['a.yaml', text] as const);
  for (const each of [{ base: files }, { base: [], edited: files }])
    await expect(unpacked(await packed(each))).rejects.toThrow('two files with the same name');
});

test('the page writes no link that it would not open', async () => {
  const linkOf = (size: number) => linkText({ base: [['a', ' '.repeat(size)]] });
  expect(await linkOf(9 * 2 ** 20)).toBe('');
  const link = await linkOf(7 * 2 ** 20);
  expect((await unpacked(link)).base[0]![1]).toHaveLength(7 * 2 ** 20);
});

test('a link has no Secrets, neither as they were opened nor as they are edited', async () => {
  const secret = (value: string) =>
    `kind: Pod\n---\nkind: Secret\nmetadata: { name: s }\nstringData: { key: ${value} }\n`;
  const files = { base: [['a', secret('old')]], edited: [['a', secret('new')]] } as const;
  const { verbatim } = await new Session().linkText(files);
  const { base, edited } = await unpacked(verbatim);
  const left = [['a', 'kind: Pod\n---\n# A Secret is left out.\n\n\n']];
  expect({ base, edited }).toEqual({ base: left, edited: left });
});

const LINE = fc.constantFrom('a: 1', 'b:', '  - c', '', '---', 'd: x');
const TEXT = fc
  .tuple(fc.array(LINE, { maxLength: 40 }), fc.boolean())
  .map(([lines, ends]) => lines.join('\n') + (ends && lines.length > 0 ? '\n' : ''));

test('git applies the patch to the old text, and it becomes the new one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-patch-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  fc.assert(
    fc.property(TEXT, TEXT, (old, now) => {
      fc.pre(old !== now && old !== '' && now !== '');
      const path = join(folder, 'x/p.yaml');
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, old);
      const patch = patchText([['x/p.yaml', old]], [['x/p.yaml', now]]);
      const { status, stderr } = spawnSync('git', ['apply', '--unsafe-paths', '--whitespace=nowarn', '-'], {
        cwd: folder,
        input: patch,
        encoding: 'utf8',
        env: { ...process.env, GIT_CEILING_DIRECTORIES: folder },
      });
      expect([status, stderr, patch]).toEqual([0, '', patch]);
      expect(readFileSync(path, 'utf8')).toBe(now);
    }),
    { numRuns: runs(300) },
  );
});

test.each(['my shop.yaml', 'my shop/a.yaml'])('patch and git find the file %j', name => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-patch-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, 'a: 1\n');
  const input = patchText([[name, 'a: 1\n']], [[name, 'a: 2\n']]);
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: folder };
  const { stderr } = spawnSync('git', ['apply', '-'], { cwd: folder, input, encoding: 'utf8', env });
  expect([stderr, readFileSync(path, 'utf8')]).toEqual(['', 'a: 2\n']);
  // patch(1), which is not on every machine, ends a name at a space, but for a tab after it.
  expect(input).toContain(`--- a/${name}\t\n+++ b/${name}\t\n`);
});

test('a file that is new and empty is no patch, and would spoil that of others', () => {
  expect(patchText([], [['new-1.yaml', '']])).toBe('');
});

test('there is no command where files were only removed', () => {
  expect(kubectlCommand([])).toEqual({ none: expect.stringContaining('removes nothing') });
});

test('the command hands over the texts as they are, with line ends of a shell', () => {
  const files: Files = [
    ['a.yaml', "kind: A\r\n\tEOF\n$(id) `id` 'x'\n"],
    ['b.yaml', 'kind: B'],
  ];
  const made = kubectlCommand(files);
  const command = ('command' in made ? made.command : '').replace('kubectl apply -f -', 'cat');
  const { stdout } = spawnSync('sh', ['-c', command], { encoding: 'utf8' });
  expect(stdout).toBe("kind: A\n\tEOF\n$(id) `id` 'x'\n---\nkind: B\n");
});

test.each(['# x\rEOF\rid\r', '# x\u001b[201~\nid', '# \u0003id', '# \u0085EOF', '# \u007f', 'a: |\n\u0004'])(
  'there is no command of a text with keys of a terminal: %j',
  text => {
    expect(kubectlCommand([['a.yaml', `kind: A\n${text}\nkind: B\n`]])).toEqual({
      none: expect.stringContaining('control characters'),
    });
  },
);

test.each(['kind: A\nEOF\nid\n', 'EOF', 'kind: A\r\nEOF\r\n'])(
  'there is no command of a text with its end word as a line: %j',
  text => {
    expect(kubectlCommand([['a.yaml', text]])).toEqual({ none: expect.stringContaining('EOF') });
  },
);

const MANIFEST = `spec:
  ingress:
  - from:
    - podSelector: {}
    ports:
    - port: 80
  - from: []
---
kind: Other`;

test.each([
  [2, 2, 7],
  [3, 3, 6],
  [5, 5, 6],
  [7, 7, 7],
  [99, 9, 9],
])('the block at line %d goes from %d to %d', (line, first, last) => {
  expect(blockOf(MANIFEST, line, 1, 40)).toMatchObject({ first, last });
});

test('lines around a block are none of another document', () => {
  const { lines } = blockOf(MANIFEST, 7, 5, 40);
  expect(lines.at(-1)?.number).toBe(7);
});
