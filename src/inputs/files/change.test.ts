import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type FolderChange, readChange } from './source.ts';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-change-'));
  file = join(folder, 'a.yaml');
  await writeFile(file, 'kind: A\napiVersion: v1\n');
});

afterEach(() => rm(folder, { recursive: true, force: true }));

test('readChange() waits until the files stand still, and reads them as they are then', async () => {
  const reading = readChange(folder, undefined, { settleMs: 40, maxWaitMs: 10_000 });
  for (let i = 0; i < 20; i++) {
    await appendFile(file, `---\nkind: B${i}\napiVersion: v1\n`);
    await sleep(10);
  }
  expect(kinds(await reading)).toHaveLength(21);
});

test('readChange() waits no longer than it was told to, and the next look reads the files again', async () => {
  let isWriting = true;
  const writing = (async () => {
    for (let i = 0; isWriting; i++) {
      await appendFile(file, `# ${i}\n`);
      await sleep(2);
    }
  })();
  const first = (await readChange(folder, undefined, { settleMs: 40, maxWaitMs: 100 })) as FolderChange;
  isWriting = false;
  await writing;
  expect(kinds(first)).toEqual(['A']);
  expect(kinds(await readChange(folder, first.seen, { settleMs: 10, maxWaitMs: 100 }))).toEqual(['A']);
});

test('readChange() reads no file that is as it was', async () => {
  const patience = { settleMs: 1, maxWaitMs: 100 };
  const first = (await readChange(folder, undefined, patience)) as FolderChange;
  await writeFile(join(folder, 'b.yaml'), 'kind: B\napiVersion: v1\n');
  const second = (await readChange(folder, first.seen, patience)) as FolderChange;
  expect([...second.manifests.keys()]).toEqual([join(folder, 'b.yaml')]);
  expect(kinds(await readChange(folder, second.seen, patience))).toEqual([]);
});

function kinds(change: Awaited<ReturnType<typeof readChange>>): (string | undefined)[] {
  return [...(change as FolderChange).manifests.values()].flatMap(({ objects }) =>
    objects!.map(({ kind }) => kind),
  );
}
