import { expect, test } from 'vitest';
import { type Named, sortedEntries, sortedFiles, textsOf } from './folder.ts';

const named = (name: string, text = 'kind: Pod'): Named => [name, new File([text], name)];

/** Entries as a browser gives them of a drop, a hundred at a time. */
function folder(path: string, entries: readonly FileSystemEntry[]): FileSystemEntry {
  const rest = [...entries];
  const readEntries = (then: (some: FileSystemEntry[]) => void) => then(rest.splice(0, 100));
  return { isFile: false, isDirectory: true, fullPath: path, createReader: () => ({ readEntries }) } as never;
}

function entry(path: string, { isBroken = false } = {}): FileSystemEntry {
  const file = (then: (file: File) => void, fail: (error: Error) => void) =>
    isBroken ? fail(new Error('no right')) : then(new File(['kind: Pod'], path));
  return { isFile: true, isDirectory: false, fullPath: path, file } as never;
}

const many = (count: number, name: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => entry(name(i)));

test('a manifest after thousands of other files of a folder is read, and the others are counted', async () => {
  const dropped = folder('/app', [
    ...many(6_000, i => `/app/pictures/${i}.png`),
    folder(
      '/app/node_modules',
      many(10, i => `/app/node_modules/${i}.json`),
    ),
    folder('/app/deploy', [entry('/app/deploy/b.yml'), entry('/app/deploy/a.yaml')]),
  ]);
  const read = await textsOf(await sortedEntries([dropped]));
  expect(read).toEqual({
    files: [
      ['app/deploy/a.yaml', 'kind: Pod'],
      ['app/deploy/b.yml', 'kind: Pod'],
    ],
    without:
      '2 files were opened. 6000 others were left out: their names do not end in .yaml, .yml or .json.',
  });
});

test('of too many manifests none is opened, and their number is said', async () => {
  const read = await textsOf(
    await sortedEntries([
      folder(
        '/a',
        many(5_001, i => `/a/${i}.yaml`),
      ),
    ]),
  );
  expect(read).toEqual({
    failure: expect.stringMatching(/^These are 5001 manifests of .*Nothing was opened/),
  });
});

test('a manifest that cannot be read is named, and nothing is opened without it', async () => {
  const read = await textsOf(await sortedEntries([entry('/a.yaml'), entry('/b.yaml', { isBroken: true })]));
  expect(read).toEqual({ failure: 'b.yaml cannot be read.' });
});

test('of files of one name, which come from several folders, each has a name of its own', async () => {
  const names = ['a.yaml', 'a.yaml', 'a-2.yaml', 'a.yaml', 'x.d/b.yml', 'x.d/b.yml'];
  const read = await textsOf(sortedFiles(names.map((name, i) => named(name, `kind: K${i}`))));
  expect(read).toEqual({
    files: [
      ['a-2.yaml', 'kind: K2'],
      ['a.yaml', 'kind: K0'],
      ['a-3.yaml', 'kind: K1'],
      ['a-4.yaml', 'kind: K3'],
      ['x.d/b.yml', 'kind: K4'],
      ['x.d/b-2.yml', 'kind: K5'],
    ],
  });
});

test('a file that is given alone may have any name', async () => {
  expect(await textsOf(await sortedEntries([entry('/cluster.txt')]))).toMatchObject({
    files: [['cluster.txt', 'kind: Pod']],
  });
  expect(await textsOf(sortedFiles([named('cluster.txt')]))).toMatchObject({
    files: [['cluster.txt', 'kind: Pod']],
  });
});

test('a text is read in the encoding that it begins with, as the command line and kubectl do', async () => {
  const text = 'kind: Pod # \u00e4';
  const bytes = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]);
  for (const contents of [bytes, bytes.swap16(), Buffer.from(text)]) {
    const file = new File([Uint8Array.from(contents)], 'a.yaml');
    expect(await textsOf(sortedFiles([['a.yaml', file]]))).toEqual({ files: [['a.yaml', text]] });
  }
});

test('files of a chosen folder are filtered alike', async () => {
  const all = [named('f/a.yaml'), named('f/x.png'), named('f/.git/config.json')];
  expect(await textsOf(sortedFiles(all))).toEqual({
    files: [['f/a.yaml', 'kind: Pod']],
    without: '1 file was opened. 1 other was left out: its name does not end in .yaml, .yml or .json.',
  });
  expect(await textsOf(sortedFiles([named('a.png'), named('b.png')]))).toEqual({
    failure: 'These are 2 files, and none ends in .yaml, .yml or .json.',
  });
});
