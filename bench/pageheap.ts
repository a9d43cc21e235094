/**
 * What JavaScript has in use in the page and in its worker, which are two heaps, and keys in the editor, after which it
 * should be as much as before.
 */
import type { Page } from 'playwright-core';

export interface InUse {
  readonly bytes: number;
  /** All that can be reached, which is the same in each run. */
  readonly objects: number;
}

type Send = (method: string, params?: object) => Promise<Answer>;

interface Answer {
  readonly usedSize: number;
  readonly result: { readonly objectId: string; readonly value: number };
  readonly objects: { readonly objectId: string };
}

/** After garbage is collected. */
export async function inUse(page: Page): Promise<InUse> {
  const session = await page.context().newCDPSession(page);
  const toPage = session.send.bind(session) as unknown as Send;
  const all = [await inUseOf(toPage), await inUseOf(await toWorker(toPage, session))];
  await session.detach();
  const sum = (what: keyof InUse) => all.reduce((total, each) => total + each[what], 0);
  return { bytes: sum('bytes'), objects: sum('objects') };
}

async function inUseOf(send: Send): Promise<InUse> {
  await send('HeapProfiler.collectGarbage');
  const { usedSize: bytes } = await send('Runtime.getHeapUsage');
  const { result: prototype } = await send('Runtime.evaluate', { expression: 'Object.prototype' });
  const { objects } = await send('Runtime.queryObjects', { prototypeObjectId: prototype.objectId });
  const { result } = await send('Runtime.callFunctionOn', {
    objectId: objects.objectId,
    functionDeclaration: 'function () { return this.length; }',
  });
  await send('Runtime.releaseObject', { objectId: objects.objectId });
  return { bytes, objects: result.value };
}

interface Listener {
  on(event: string, heard: (data: { sessionId: string; message: string }) => void): void;
}

/** The first worker of the page. What it answers comes as a message of the page. */
async function toWorker(toPage: Send, session: unknown): Promise<Send> {
  const waiting: ((answer: Answer) => void)[] = [];
  const { promise, resolve } = Promise.withResolvers<string>();
  (session as Listener).on('Target.attachedToTarget', ({ sessionId }) => resolve(sessionId));
  (session as Listener).on('Target.receivedMessageFromTarget', ({ message }) => {
    const { id, result } = JSON.parse(message) as { id?: number; result: Answer };
    if (id !== undefined) waiting[id]?.(result);
  });
  await toPage('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: false, flatten: false });
  const sessionId = await promise;
  return (method, params = {}) =>
    new Promise(done => {
      const message = JSON.stringify({ id: waiting.push(done) - 1, method, params });
      void toPage('Target.sendMessageToTarget', { sessionId, message });
    });
}

/** For a window before it has a page: counts what its worker was asked, and what it has answered. */
export const COUNT_ANSWERS = `
const counted = globalThis.counted = { asked: 0, answered: 0 };
globalThis.Worker = class extends Worker {
  constructor(...all) {
    super(...all);
    this.addEventListener('message', () => counted.answered++);
  }
  postMessage(...all) {
    counted.asked++;
    super.postMessage(...all);
  }
};`;

/** Takes a digit before the cursor of the editor away and types another one, in turn. Each edit is judged before the next. */
export async function typeDigits(page: Page, edits: number): Promise<void> {
  await page.locator('.editor .cm-content').evaluate(type, edits);
}

interface View {
  readonly state: { readonly selection: { readonly main: { readonly head: number } } };
  dispatch(spec: object): void;
}

/** In the page, as a key takes longer to get there than to be judged. */
async function type(content: unknown, edits: number): Promise<void> {
  const { view } = Object(content).cmTile as { readonly view: View };
  const { counted } = globalThis as unknown as {
    counted: { readonly asked: number; readonly answered: number };
  };
  for (let i = 0; i < edits; i++) {
    const { head } = view.state.selection.main;
    const { asked } = counted;
    view.dispatch(
      i % 2 === 0
        ? { changes: { from: head - 1, to: head } }
        : { changes: { from: head, insert: String((i >> 1) % 10) }, selection: { anchor: head + 1 } },
    );
    while (counted.asked === asked || counted.answered < counted.asked)
      await new Promise(done => setTimeout(done));
  }
}
