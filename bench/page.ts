/**
 * What a person waits for in the page, in Debian's Chromium: from manifests to the matrix, from a key to the painted
 * difference, the longest task of the main thread, in which no frame is painted, and the memory of both threads.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { stringify } from 'yaml';
import { builtFolder } from './build.ts';
import { type FolderSize, folderObjects } from './manifestfolder.ts';
import { COUNT_ANSWERS, inUse, typeDigits } from './pageheap.ts';
import { absolute, againstFloor, type BenchRow, percentile } from './row.ts';

const CHROMIUM = '/usr/bin/chromium';
/**
 * Each waits until all that follows the one before is done, which takes most of the time of this suite. Of 40 the slowest
 * 2 do not count, such as the first, for which no code is compiled yet.
 */
const KEYS = { port: 40, label: 40, network: 20 } as const;
/** The editor remembers the last hundred edits, and the model keeps something of each until it judges all anew. */
const [FEW_EDITS, MANY_EDITS] = [200, 10_000];
const FILE = 'policies.yaml';
/** Where a key is pressed; what it replaces of the text is none but for the digit of a network. */
const PLACES = {
  port: / port: (?=\d)/g,
  label: /app: app-(?=\d)/g,
  network: /cidr: 10\.\d+\.0\.0\/(?=1)/g,
} as const;

export async function benchPage(): Promise<BenchRow[]> {
  if (!existsSync(CHROMIUM)) throw new Error(`there is no ${CHROMIUM}: apt-get install chromium`);
  const url = pathToFileURL(join(builtFolder(), 'page/sluice.html')).href;
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
  try {
    return [
      ...(await typedRows(browser, url, { workloads: 500, replicas: 1, policies: 1000 }, 150, 400)),
      ...(await typedRows(browser, url, { workloads: 100, replicas: 1, policies: 200 }, 80, 150)),
      ...(await openedRows(browser, url)),
      await memoryRow(browser, url),
    ];
  } finally {
    await browser.close();
  }
}

async function typedRows(
  browser: Browser,
  url: string,
  size: FolderSize,
  budget: number,
  first: number,
): Promise<BenchRow[]> {
  const what = `page, ${size.workloads} workloads`;
  const { page, openMs } = await opened(browser, url, size);
  const taskMs = await longestTaskMs(page);
  await page.getByRole('button', { name: 'Edit', exact: true }).first().click();
  await page.getByRole('button', { name: FILE }).first().click();
  await page.locator(EDITOR).waitFor();
  await settled(page);
  await longestTaskMs(page);
  const keys = {
    port: await keysMs(page, size, 'port'),
    label: await keysMs(page, size, 'label'),
    network: await keysMs(page, size, 'network'),
  };
  const rows = [
    absolute(`${what}: from the drop of files to the painted matrix`, 's', openMs / 1000, 1),
    absolute(`${what}: longest task of the main thread meanwhile`, 'ms', taskMs, 50),
    ...Object.entries(keys).map(([place, ms]) =>
      absolute(`${what}: key in a ${place} to its painted difference, p95`, 'ms', percentile(ms, 95), budget),
    ),
    absolute(`${what}: the first key in a network`, 'ms', keys.network[0]!, first),
    absolute(`${what}: longest task of the main thread while typing`, 'ms', await longestTaskMs(page), 50),
    absolute(`${what}: memory of JavaScript then`, 'MB', (await inUse(page)).bytes / 2 ** 20, 100),
  ];
  await page.close();
  return rows;
}

async function openedRows(browser: Browser, url: string): Promise<BenchRow[]> {
  const { page, openMs } = await opened(browser, url, { workloads: 1500, replicas: 10, policies: 1000 });
  const rows = [
    absolute('page, 15,000 pods: from the drop of files to the painted matrix', 's', openMs / 1000, 5),
    absolute('page, 15,000 pods: longest task of the main thread', 'ms', await longestTaskMs(page), 50),
  ];
  await page.close();
  return rows;
}

/** What many edits leave behind: in few manifests, as each is judged before the next. */
async function memoryRow(browser: Browser, url: string): Promise<BenchRow> {
  const size = { workloads: 20, replicas: 1, policies: 40 };
  const { page } = await opened(browser, url, size);
  await page.getByRole('button', { name: 'Edit', exact: true }).first().click();
  await page.getByRole('button', { name: FILE }).first().click();
  const { index, 0: port } = / port: \d+/.exec(textOf(size))!;
  await page.locator(EDITOR).evaluate(GO_TO, index + port.length);
  await settled(page);
  await typeDigits(page, FEW_EDITS);
  const before = await inUse(page);
  await typeDigits(page, MANY_EDITS);
  const after = await inUse(page);
  await page.close();
  const [value, floor] = [after, before].map(({ bytes }) => bytes / 2 ** 20);
  return againstFloor('page: memory of JavaScript after 10,000 edits, beside 200', 'MB', value!, floor!, 1.1);
}

function textOf(size: FolderSize): string {
  return filesOf(size).find(([name]) => name === FILE)![1];
}

function filesOf(size: FolderSize): readonly (readonly [string, string])[] {
  return Object.entries(folderObjects(size)).map(([name, items]) => [
    `${name}.yaml`,
    items.map(item => stringify(item)).join('---\n'),
  ]);
}

async function opened(
  browser: Browser,
  url: string,
  size: FolderSize,
): Promise<{ readonly page: Page; readonly openMs: number }> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.setDefaultTimeout(120_000);
  await page.addInitScript(WATCH);
  await page.addInitScript(COUNT_ANSWERS);
  await page.goto(url);
  await page.evaluate(filesScript(filesOf(size)));
  await page.evaluate('new Promise(done => setTimeout(done, 500))');
  const openMs = await page.evaluate<number>(DROP);
  await settled(page);
  return { page, openMs };
}

/** A key at places that are far from each other, each taken back before the next. */
async function keysMs(page: Page, size: FolderSize, place: keyof typeof PLACES): Promise<number[]> {
  const places = [...textOf(size).matchAll(PLACES[place])].map(({ index, 0: found }) => index + found.length);
  const found: number[] = [];
  for (let i = 0; i < KEYS[place]; i++) {
    await page.locator(EDITOR).evaluate(GO_TO, places[(i * 37) % places.length]!);
    await settled(page);
    await page.evaluate('watched.keys.length = 0');
    await page.keyboard.press(String(1 + (i % 2)));
    await page.evaluate('watched.until(() => watched.keys.length > 0)');
    found.push(...(await page.evaluate<number[]>('watched.keys')));
    // At once, so that the matrix is not made twice.
    await page.keyboard.press('Backspace');
    await settled(page);
  }
  return found;
}

const EDITOR = '.editor .cm-content';
const GO_TO = (element: unknown, anchor: number) => {
  const { cmTile, cmView } = element as Record<
    string,
    { view: { dispatch(spec: object): void; focus(): void } }
  >;
  const { view } = (cmTile ?? cmView)!;
  view.dispatch({ selection: { anchor }, scrollIntoView: true });
  view.focus();
};

/** Nothing is computed any more, and nothing is about to be. */
async function settled(page: Page): Promise<void> {
  // Not `waitForFunction`, which the security policy of the page forbids.
  await page.evaluate('watched.until(() => performance.now() - watched.busyAt > 250 && watched.isIdle())');
}

async function longestTaskMs(page: Page): Promise<number> {
  return page.evaluate<number>('watched.longestTask()');
}

/** A key is done when the worker has answered and the frame after that is painted. */
const WATCH = `
const watched = globalThis.watched = {
  keys: [], pressedAt: undefined, busyAt: 0, tasks: [],
  isIdle: () => document.querySelector('.panes')?.dataset.status === 'idle',
  painted: () => new Promise(done => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = done;
    port2.postMessage(0);
  })),
  until: async holds => {
    while (!holds()) await new Promise(done => setTimeout(done, 20));
  },
  longestTask: () => {
    watched.take(watched.observer.takeRecords());
    return Math.max(0, ...watched.tasks.splice(0));
  },
  take: entries => watched.tasks.push(...entries.map(({ duration }) => duration)),
};
watched.observer = new PerformanceObserver(list => watched.take(list.getEntries()));
watched.observer.observe({ type: 'longtask' });
addEventListener('keydown', ({ key, timeStamp }) => {
  if (/\\d/.test(key)) watched.pressedAt = timeStamp;
  watched.busyAt = performance.now();
}, true);
let wasIdle = true;
new MutationObserver(async () => {
  const isIdle = watched.isIdle();
  watched.busyAt = performance.now();
  const { pressedAt } = watched;
  if (wasIdle === isIdle || pressedAt === undefined) return void (wasIdle = isIdle);
  wasIdle = isIdle;
  if (!isIdle) return;
  watched.pressedAt = undefined;
  await watched.painted();
  watched.keys.push(performance.now() - pressedAt);
}).observe(document, { subtree: true, attributes: true, attributeFilter: ['data-status'] });
`;

/** Makes the files, before anything is measured: a script that has them all takes long itself. */
function filesScript(files: readonly (readonly [string, string])[]): string {
  return `watched.dropped = new DataTransfer();
    for (const [name, text] of ${JSON.stringify(files)}) watched.dropped.items.add(new File([text], name));`;
}

/** Gives how long it takes until the matrix is painted. */
const DROP = `(async () => {
  watched.longestTask();
  const start = performance.now();
  dispatchEvent(new DragEvent('drop', { dataTransfer: watched.dropped, cancelable: true }));
  while (document.querySelector('main .matrix') === null) await new Promise(requestAnimationFrame);
  // Its lines come with several frames.
  let [before, cells] = [-1, 0];
  while (before !== cells) {
    before = cells;
    await watched.painted();
    cells = document.querySelectorAll('.cell').length;
  }
  return performance.now() - start;
})()`;
