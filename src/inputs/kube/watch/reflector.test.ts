/** The reflector against a script of answers, in a time of its own. */
import { expect, test } from 'vitest';
import { type Api, ApiError, type Query } from '../client/api.ts';
import { Reflector, type WatchChange } from './reflector.ts';
import { NODES } from './resource.ts';

type Line = Readonly<Record<string, unknown>>;
/** Lines of a watch, which ends after so many milliseconds; the text of a list; or a refusal. */
type Answer = { readonly lines: readonly Line[]; readonly lastsMs?: number } | string | ApiError;

const node = (name: string, revision: number) => ({
  kind: 'Node',
  apiVersion: 'v1',
  metadata: { name, resourceVersion: String(revision) },
});
const added = (name: string, revision: number) => ({ type: 'ADDED', object: node(name, revision) });
const bookmark = (revision: number, annotations = {}) => ({
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion: String(revision), annotations } },
});
const endOfList = (revision: number) => bookmark(revision, { 'k8s.io/initial-events-end': 'true' });
const list = (revision: number, next = '', kind = 'NodeList') =>
  JSON.stringify({ kind, apiVersion: 'v1', metadata: { resourceVersion: String(revision), continue: next } });
const LISTED = { lines: [added('a', 5), endOfList(9)], lastsMs: 600_000 };

interface Told {
  readonly queries: readonly Query[];
  /** `put a`, `gone a`, `listed`, `list`, `list anew`. */
  readonly changes: readonly string[];
  readonly waitsMs: readonly number[];
}

/** The requests and events of a reflector until the answers run out. */
async function play(...answers: readonly Answer[]): Promise<Told> {
  const queries: Query[] = [];
  const changes: string[] = [];
  const waitsMs: number[] = [];
  const stop = new AbortController();
  let nowMs = 0;
  const rest = [...answers];
  const api: Api = {
    get: async (_, query) => {
      const answer = rest.shift();
      if (answer === undefined) stop.abort();
      if (answer === undefined || answer instanceof ApiError) throw answer ?? new Error('the end');
      queries.push(query);
      return body(answer);
    },
  };
  async function* body(answer: Exclude<Answer, ApiError>): AsyncGenerator<Uint8Array> {
    if (typeof answer === 'string') yield Buffer.from(answer);
    else {
      for (const line of answer.lines) yield Buffer.from(`${JSON.stringify(line)}\n`);
      nowMs += answer.lastsMs ?? 0;
    }
  }
  const store = {
    startReplace: (rolledBack: boolean) => void changes.push(rolledBack ? 'list anew' : 'list'),
    apply: (all: readonly WatchChange[]) =>
      void changes.push(
        ...all.map(change => (change.type === 'replaced' ? 'replaced' : `${change.type} ${change.name}`)),
      ),
    setHealth: () => {},
  };
  const timing = {
    now: () => nowMs,
    sleep: async (ms: number) => void waitsMs.push(ms),
    random: () => 1,
  };
  await new Reflector(api, NODES, store, timing).run(stop.signal);
  return { queries, changes, waitsMs };
}

const revisions = ({ queries }: Told) => queries.map(({ resourceVersion = 'list' }) => resourceVersion);

test('Reflector watches from the revision at which its streamed list ended', async () => {
  const told = await play(LISTED, { lines: [added('b', 10)], lastsMs: 600_000 });
  expect(told.changes).toEqual(['list', 'upsert a', 'replaced', 'upsert b']);
  expect(revisions(told)).toEqual(['list', '9']);
  expect(told.queries[0]).toMatchObject({
    watch: 'true',
    sendInitialEvents: 'true',
    resourceVersionMatch: 'NotOlderThan',
    allowWatchBookmarks: 'true',
  });
  expect(told.waitsMs).toEqual([]);
});

test('Reflector takes no bookmark but the last one for the end of its list', async () => {
  const told = await play({ lines: [added('a', 5), bookmark(6), added('b', 7)], lastsMs: 9_000 }, LISTED);
  expect(told.changes).toEqual(['list', 'upsert a', 'upsert b', 'list', 'upsert a', 'replaced']);
});

test('Reflector resumes from a bookmark', async () => {
  const told = await play(
    LISTED,
    { lines: [bookmark(50)], lastsMs: 600_000 },
    { lines: [], lastsMs: 600_000 },
  );
  expect(revisions(told)).toEqual(['list', '9', '50']);
});

test('Reflector reads pages where the server refuses to stream, and watches from the first one', async () => {
  const told = await play(new ApiError(422, 'no'), list(20, 'more'), list(21), { lines: [] });
  expect(told.changes).toEqual(['list', 'replaced']);
  expect(told.queries).toMatchObject([
    { limit: '500' },
    { limit: '500', continue: 'more' },
    { resourceVersion: '20' },
  ]);
});

test.each([
  ['the list of another kind', list(20, '', 'PodList')],
  ['a list without a revision', '{"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[]}'],
  ['half a list', list(20).slice(0, -9)],
  ['a page for people', '<html>'],
  ['nothing', ''],
])('Reflector takes %s for no list', async (_, text) => {
  const told = await play(new ApiError(422, 'no'), text);
  // The next try begins when the answers have run out.
  expect(told.changes).toEqual(['list', 'list']);
});

test.each([
  ['an answer of 410', new ApiError(410, 'Expired')],
  ['an ERROR of 410', { lines: [{ type: 'ERROR', object: { code: 410, reason: 'Expired' } }] }],
])('Reflector lists again after %s, and believes no revision: others may have it now', async (_, answer) => {
  const told = await play(LISTED, answer, LISTED);
  expect(told.changes).toEqual(['list', 'upsert a', 'replaced', 'list anew', 'upsert a', 'replaced']);
});

test('Reflector lists anew where the storage was rolled back and has outgrown the server’s memory of its revision', async () => {
  const refused = [new ApiError('cut', 'by its end'), list(12), new ApiError(410, 'too old')];
  const told = await play(LISTED, ...refused, LISTED);
  expect(told.changes.slice(3)).toEqual(['list anew', 'upsert a', 'replaced']);
});

test.each([
  ['an ERROR of 500', { lines: [{ type: 'ERROR', object: { code: 500 } }] }],
  ['an event of no known type', { lines: [{ type: 'RENAMED', object: node('a', 10) }] }],
  ['an event without an object', { lines: [{ type: 'DELETED' }] }],
  [
    'an object without a name',
    { lines: [{ type: 'ADDED', object: { metadata: { resourceVersion: '10' } } }] },
  ],
])('Reflector lists again after %s', async (_, answer) => {
  const told = await play(LISTED, answer, LISTED);
  expect(told.changes).toEqual(['list', 'upsert a', 'replaced', 'list', 'upsert a', 'replaced']);
});

test.each([401, 403, 404, 429, 500, 503])(
  'Reflector watches again from where it was after %i',
  async code => {
    const told = await play(LISTED, new ApiError(code, 'no'), list(9), { lines: [] });
    expect(revisions(told)).toEqual(['list', 'list', '9']);
    expect(told.queries[1]).toEqual({ limit: '1' });
    expect(told.changes).toEqual(['list', 'upsert a', 'replaced']);
  },
);

test.each([
  ['is refused', new ApiError(503, 'no')],
  ['ends before its time', { lines: [], lastsMs: 20_000 }],
])(
  'Reflector lists anew where the storage is older than it was, after a watch that %s',
  async (_, answer) => {
    const told = await play(LISTED, answer, list(8), LISTED);
    expect(told.changes).toEqual(['list', 'upsert a', 'replaced', 'list anew', 'upsert a', 'replaced']);
  },
);

test('Reflector asks for no revision after a watch that had its time', async () => {
  const told = await play(LISTED, { lines: [], lastsMs: 600_000 }, { lines: [], lastsMs: 600_000 });
  expect(revisions(told)).toEqual(['list', '9', '9']);
});

test('Reflector waits ever longer, up to ten seconds, until it has succeeded', async () => {
  const refusals = Array.from({ length: 9 }, () => new ApiError(403, 'no'));
  const told = await play(...refusals, LISTED, new ApiError(500, 'no'));
  expect(told.waitsMs).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 100]);
});

test('Reflector waits as long as the server asks it to', async () => {
  const told = await play(new ApiError(429, 'slowly', { retryAfterMs: 30_000 }));
  expect(told.waitsMs).toEqual([30_000]);
});

test('Reflector slows down before a server that ends every watch at once', async () => {
  const told = await play(LISTED, ...[1, 2, 3].flatMap(() => [{ lines: [] }, list(9)]));
  expect(told.waitsMs.length).toBeGreaterThanOrEqual(3);
  expect(told.waitsMs.slice(0, 3)).toEqual([100, 200, 400]);
});

test('Reflector waits longer and longer for a server that lists, and then knows the revision no more', async () => {
  const expired = { type: 'ERROR', object: { code: 410, reason: 'Expired' } };
  const storm = { lines: [added('a', 5), endOfList(9), expired] };
  const told = await play(storm, storm, storm, storm, storm);
  expect(told.waitsMs).toEqual([100, 200, 400, 800, 1600]);
  const apart = { ...storm, lines: [added('a', 5), endOfList(9)], lastsMs: 5_000 };
  const calm = await play(apart, new ApiError(410, 'gone'), apart, new ApiError(410, 'gone'));
  expect(calm.waitsMs).toEqual([100, 100]);
});

test('Reflector waits longer and longer for a server that cuts what it has just begun, and not for one that lasted', async () => {
  const cut = { lines: [added('b', 10), { type: 'ERROR', object: { code: 500 } }] };
  const told = await play(LISTED, cut, LISTED, cut, LISTED, cut);
  expect(told.waitsMs).toEqual([100, 100, 100]);
  const hasty = { ...LISTED, lastsMs: 0 };
  const storm = await play(hasty, hasty, hasty);
  expect(storm.waitsMs).toEqual([100, 200, 400]);
});

test.each<[string, ApiError | { lines: [] }]>([
  ['refused', new ApiError(500, 'broken')],
  ['cut', new ApiError('cut', 'by a proxy')],
  ['ended at once', { lines: [] }],
])(
  'Reflector lists again, in pages if it must, where the server is heard and each watch is %s',
  async (_, failure) => {
    const watches = [failure, ...Array.from({ length: 29 }, () => [list(9), failure]).flat()];
    const told = await play(LISTED, ...watches, failure, list(12), failure);
    expect(told.changes).toEqual(['list', 'upsert a', 'replaced', 'list', 'replaced']);
    expect(told.queries.at(-1)).toMatchObject(
      failure instanceof ApiError ? { limit: '500' } : { resourceVersion: '12' },
    );
  },
);

test('Reflector lists nothing again for a server that is not heard at all', async () => {
  const unreachable = Array.from({ length: 100 }, () => new ApiError('unreachable', 'nobody'));
  const told = await play(LISTED, ...unreachable, list(9), { lines: [added('b', 10)], lastsMs: 600_000 });
  expect(told.changes).toEqual(['list', 'upsert a', 'replaced', 'upsert b']);
});

test('Reflector gives others a turn of the event loop within what came in one piece', async () => {
  const lines = Array.from({ length: 200 }, (_, n) => added(`n${n}`, 10 + n));
  const stop = new AbortController();
  const api: Api = {
    get: async () => body([...lines, endOfList(999)].map(line => JSON.stringify(line))),
  };
  async function* body(texts: readonly string[]): AsyncGenerator<Uint8Array> {
    yield Buffer.from(`${texts.join('\n')}\n`);
    stop.abort();
  }
  let turn = 0;
  const next = () => {
    turn++;
    if (!stop.signal.aborted) setImmediate(next);
  };
  next();
  /** The event-loop turn in which each event came. */
  const turns: number[] = [];
  const store = {
    startReplace: () => {},
    apply: (changes: readonly WatchChange[]) => {
      turns.push(...changes.map(() => turn));
      for (const until = performance.now() + 3; performance.now() < until; ); // longer than a slice
    },
    setHealth: () => {},
  };
  const timing = { now: () => 0, sleep: async () => {}, random: () => 1 };
  await new Reflector(api, NODES, store, timing).run(stop.signal);
  expect(turns).toHaveLength(201);
  const inOneTurn = [...Map.groupBy(turns, each => each).values()].map(({ length }) => length);
  expect(Math.max(...inOneTurn)).toBeLessThan(50);
});
