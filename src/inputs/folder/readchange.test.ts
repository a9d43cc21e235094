import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type FolderChange, readChange } from './source.ts';

let folder: string;
let file: string;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  folder = await mkdtemp(join(tmpdir(), 'sluice-change-'));
  file = join(folder, 'a.yaml');
  await writeFile(file, 'kind: A\napiVersion: v1\n');
});

afterEach(async () => {
  vi.useRealTimers();
  await rm(folder, { recursive: true, force: true });
});

test('readChange() waits until the files stand still, and reads them as they are then', async () => {
  const reading = readChange(folder, undefined, { settleMs: 40, maxWaitMs: 10_000 });
  const change = await whileTimePasses(reading, async turn => {
    if (turn < 20) await appendFile(file, `---\nkind: B${turn}\napiVersion: v1\n`);
  });
  expect(kinds(change)).toHaveLength(21);
});

test('readChange() waits no longer than it was told to, and the next look reads the files again', async () => {
  const reading = readChange(folder, undefined, { settleMs: 40, maxWaitMs: 100 });
  const first = (await whileTimePasses(reading, turn => appendFile(file, `# ${turn}\n`))) as FolderChange;
  expect(kinds(first)).toEqual(['A']);
  vi.useRealTimers();
  expect(kinds(await readChange(folder, first.seen, { settleMs: 10, maxWaitMs: 100 }))).toEqual(['A']);
});

/** Ten milliseconds a turn, until it is read. Time stands still while files are read, however long the machine takes. */
async function whileTimePasses<T>(reading: Promise<T>, each: (turn: number) => Promise<void>): Promise<T> {
  let isRead = false;
  void reading.finally(() => {
    isRead = true;
  });
  for (let turn = 0; !isRead; turn++) {
    await each(turn);
    while (vi.getTimerCount() === 0 && !isRead) await setImmediate();
    await vi.advanceTimersByTimeAsync(10);
  }
  return reading;
}

test('readChange() reads no file that is as it was', async () => {
  vi.useRealTimers();
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
