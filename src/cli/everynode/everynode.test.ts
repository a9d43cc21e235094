import { getEventListeners } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { deferred } from '../../lib/async/deferred.ts';
import { type AgentOutput, type AgentPod, type Agents, MissingRight, type Until } from './agents.ts';
import { askEveryNode } from './everynode.ts';

/** Agents under control of a test: they come, go and send lines. */
class Cluster implements Agents {
  readonly pods = new Map<string, AgentPod>();
  readonly running = new Map<string, { sink: AgentOutput; end: (why?: string) => void }>();
  readonly down = new Set<string>();
  readonly ends = new Set<AbortSignal>();
  /** The node of each attempt to run something, in order. */
  readonly attempts: string[] = [];
  right = true;
  /** The agents in which the caller may run no command. */
  readonly forbidden = new Set<string>();
  /** Commands that are being started, where a test says when they are. */
  readonly opening: (() => void)[] = [];
  opensLater = false;
  /** A first sign of life, behind all that is recorded. */
  beats = true;
  unreachable = false;
  /** Nodes of the cluster on which no agent runs. */
  readonly withoutAgent: string[] = [];
  mayNotListNodes = false;
  versionNote?: NonNullable<Agents['versionNote']>;

  add(node: string): void {
    this.pods.set(node, { name: `sluice-${node}`, node, container: 'sluice', phase: 'Running' });
  }

  async list(): Promise<AgentPod[]> {
    if (this.unreachable) throw new Error('ECONNREFUSED');
    return [...this.pods.values()];
  }

  async nodes(): Promise<string[]> {
    if (this.mayNotListNodes) throw new MissingRight('the right to list nodes is missing');
    return [...this.pods.keys(), ...this.withoutAgent];
  }

  run(
    { node }: AgentPod,
    _: readonly string[],
    sink: AgentOutput,
    { end }: Until,
  ): Promise<string | undefined> {
    this.attempts.push(node);
    if (!this.right || this.forbidden.has(node))
      return Promise.reject(new MissingRight('the right to create pods/exec is missing'));
    if (this.down.has(node)) return Promise.reject(new Error('no route'));
    return new Promise(resolve => {
      end.addEventListener('abort', () => resolve(undefined));
      this.ends.add(end);
      const open = () => {
        sink.open?.();
        this.running.set(node, { sink, end: resolve });
        if (this.beats) sink.line('');
      };
      if (this.opensLater) this.opening.push(open);
      else open();
    });
  }

  /** Comes when the node was tried so many times more. */
  async triedAgain(node: string, times: number): Promise<void> {
    const tries = () => this.attempts.filter(each => each === node).length;
    const before = tries();
    await expect.poll(() => tries()).toBeGreaterThanOrEqual(before + times);
  }

  tell(node: string, atMs: number, kind = 'Denial'): void {
    this.running.get(node)!.sink.line(told(atMs, kind));
  }
}

function told(atMs: number, kind: string): string {
  const [from, to] = ['10.0.0.1', '10.0.0.2'].map(address => ({ address }));
  const time = new Date(atMs).toISOString();
  return JSON.stringify({ kind, time, from, to, protocol: 'TCP', port: 80, directions: ['egress'] });
}

function asked(
  cluster: Cluster,
  follow = true,
  printed: Promise<void> = Promise.resolve(),
  fromMs = 0,
  only?: string,
) {
  const shown: string[] = [];
  const notes: string[] = [];
  const end = new AbortController();
  const over = askEveryNode({
    agents: cluster,
    words: [],
    follow,
    fromMs,
    ...(only !== undefined && { only }),
    print: async ({ node, atMs }) => {
      shown.push(`${node} ${atMs}`);
      await printed;
    },
    note: text => notes.push(text),
    end: end.signal,
    listMs: 20,
    againMs: 20,
  });
  over.catch(() => undefined);
  return { shown, notes, over, end };
}

test('what nodes tell is in one order of time, with the node', async () => {
  const cluster = new Cluster();
  for (const node of ['n1', 'n2']) cluster.add(node);
  const { shown, end, over } = asked(cluster);
  await expect.poll(() => cluster.running.size).toBe(2);
  cluster.tell('n1', 3);
  cluster.tell('n2', 2);
  cluster.tell('n1', 4);
  await expect.poll(() => shown).toEqual(['n2 2', 'n1 3', 'n1 4']);
  end.abort();
  await over;
});

test('of what is recorded that alone is told which is asked for, and of what comes all, also by a clock that is behind', async () => {
  const cluster = new Cluster();
  cluster.beats = false;
  cluster.add('n1');
  const nowMs = Date.now();
  const { shown, end, over } = asked(cluster, true, Promise.resolve(), nowMs);
  await expect.poll(() => cluster.running.size).toBe(1);
  cluster.tell('n1', nowMs - 1_000);
  cluster.running.get('n1')!.sink.line('');
  cluster.tell('n1', nowMs - 60_000); // recorded, behind an early heartbeat
  cluster.tell('n1', nowMs - 2_000);
  await expect.poll(() => shown).toEqual([`n1 ${nowMs - 2_000}`]);
  end.abort();
  await over;
});

test.each([true, false])('agents of another version are a note, with follow: %s', async follow => {
  const cluster = new Cluster();
  cluster.add('n1');
  const answered = deferred<void>();
  cluster.versionNote = async pods => {
    await answered.promise;
    return `${pods.map(({ node }) => node)} is older`;
  };
  const { notes, end, over } = asked(cluster, follow);
  await expect.poll(() => cluster.running.size).toBe(1);
  let isOver = false;
  void over.then(() => {
    isOver = true;
  });
  if (!follow) cluster.running.get('n1')!.end();
  // A command that is over without it would be over by now.
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
  expect(isOver).toBe(false);
  answered.resolve();
  await expect.poll(() => notes).toEqual(['n1 is older']);
  end.abort();
  await over;
});

test('a node that is away is said once, comes back by itself, and tells nothing twice', async () => {
  const cluster = new Cluster();
  for (const node of ['n1', 'n2']) cluster.add(node);
  const { shown, notes, end, over } = asked(cluster);
  await expect.poll(() => cluster.running.size).toBe(2);
  cluster.tell('n2', 1);
  cluster.down.add('n2');
  cluster.running.get('n2')!.end('the connection was lost');
  await expect.poll(() => notes).toEqual(['node n2 is away: the connection was lost']);
  await cluster.triedAgain('n2', 3);
  cluster.tell('n1', 2);
  cluster.down.delete('n2');
  await expect.poll(() => notes.at(-1)).toBe('node n2 is back');
  cluster.tell('n2', 1);
  cluster.tell('n2', 3);
  await expect.poll(() => shown).toEqual(['n2 1', 'n1 2', 'n2 3']);
  expect(notes).toHaveLength(2);
  end.abort();
  await over;
});

test('a node without an agent is named, and what comes is not everything', async () => {
  const cluster = new Cluster();
  cluster.add('n1');
  cluster.withoutAgent.push('n3', 'n2');
  const { notes, over } = asked(cluster, false);
  await expect.poll(() => cluster.running.size).toBe(1);
  expect(notes).toEqual(['no agent runs on n2, n3: what happens there is missing']);
  cluster.running.get('n1')!.end();
  expect(await over).toBe(false);
});

test('where Nodes may not be listed, it is said that nodes may be missing', async () => {
  const cluster = new Cluster();
  cluster.add('n1');
  cluster.mayNotListNodes = true;
  const { notes, over } = asked(cluster, false);
  await expect.poll(() => cluster.running.size).toBe(1);
  expect(notes).toEqual([
    'it is not known whether every node has an agent: the right to list nodes is missing',
  ]);
  cluster.running.get('n1')!.end();
  expect(await over).toBe(true);
});

test('what comes while nobody reads what is printed is lost beyond a bound, and said', async () => {
  const cluster = new Cluster();
  cluster.add('n1');
  const { promise: printed, resolve: print } = Promise.withResolvers<void>();
  const { shown, notes, end, over } = asked(cluster, true, printed);
  await expect.poll(() => cluster.running.size).toBe(1);
  cluster.tell('n1', 0);
  await expect.poll(() => shown).toEqual(['n1 0']);
  const padding = ' '.repeat(30 << 20);
  for (const atMs of [1, 2, 3, 4, 5, 6])
    cluster.running.get('n1')!.sink.line(told(atMs, 'SeenFlow') + padding);
  print();
  await expect.poll(() => shown).toEqual(['n1 0', 'n1 1', 'n1 2', 'n1 3', 'n1 4']);
  expect(notes).toEqual(['2 lines are lost: they came faster than they could be printed']);
  end.abort();
  expect(await over).toBe(false);
});

test('new connections of one turn that look the same are as many', async () => {
  const cluster = new Cluster();
  cluster.add('n1');
  const { shown, end, over } = asked(cluster);
  await expect.poll(() => cluster.running.size).toBe(1);
  for (let n = 0; n < 3; n++) cluster.tell('n1', 1, 'SeenFlow');
  await expect.poll(() => shown).toEqual(['n1 1', 'n1 1', 'n1 1']);
  end.abort();
  await over;
});

test('a right that is missing for a while, of a node that was heard, ends nothing', async () => {
  const cluster = new Cluster();
  cluster.add('n1');
  const { shown, notes, end, over } = asked(cluster);
  await expect.poll(() => cluster.running.size).toBe(1);
  for (const why of ['the connection was lost', 'lost again']) {
    cluster.right = false;
    cluster.running.get('n1')!.end(why);
    await expect.poll(() => notes.at(-1)).toBe(`node n1 is away: ${why}`);
    await cluster.triedAgain('n1', 2);
    cluster.right = true;
    await expect.poll(() => notes.at(-1)).toBe('node n1 is back');
  }
  cluster.tell('n1', 1);
  await expect.poll(() => shown).toEqual(['n1 1']);
  end.abort();
  await over;
});

test('a node that comes later is asked too, also by a new pod, and an API server that is away is said', async () => {
  const cluster = new Cluster();
  cluster.add('n1');
  const { shown, notes, end, over } = asked(cluster);
  await expect.poll(() => cluster.running.size).toBe(1);
  cluster.unreachable = true;
  await expect.poll(() => notes.at(-1)).toContain('the API server does not answer');
  cluster.unreachable = false;
  cluster.add('n3');
  await expect.poll(() => cluster.running.has('n3')).toBe(true);
  expect(notes.at(-1)).toBe('the API server answers again');
  cluster.tell('n3', 5);
  await expect.poll(() => shown).toEqual(['n3 5']);
  end.abort();
  await over;
});

test('a caller without the right is told which one is missing', async () => {
  const cluster = new Cluster();
  cluster.add('n1');
  cluster.right = false;
  await expect(asked(cluster).over).rejects.toThrow('the right to create pods/exec is missing');
  await expect(asked(new Cluster()).over).rejects.toThrow('--agents names another');
});

test.each([true, false])(
  'a node that refuses before any other has answered is away, and ends nothing: follow %s',
  async follow => {
    const cluster = new Cluster();
    cluster.beats = false;
    for (const node of ['n1', 'n2', 'n3']) cluster.add(node);
    cluster.forbidden.add('n1');
    cluster.down.add('n2');
    const { shown, notes, end, over } = asked(cluster, follow);
    await expect.poll(() => notes).toEqual(['node n2 is away: no route']);
    if (follow) await cluster.triedAgain('n2', 2);
    cluster.tell('n3', 1);
    const refused = 'node n1 is away: the right to create pods/exec is missing';
    await expect.poll(() => notes.at(-1)).toBe(refused);
    if (follow) end.abort();
    else cluster.running.get('n3')!.end();
    expect(await over).toBe(follow);
    expect(shown).toEqual(['n3 1']);
  },
);

const hundred = () => {
  const cluster = new Cluster();
  const names = Array.from({ length: 100 }, (_, n) => `n${100 + n}`);
  for (const node of names) cluster.add(node);
  return { cluster, names };
};

test('a hundred nodes are opened 32 at a time, and stay open together', async () => {
  const { cluster, names } = hundred();
  cluster.opensLater = true;
  const { shown, notes, end, over } = asked(cluster);
  for (let opened = 0; opened < 100; opened++) {
    await expect.poll(() => cluster.attempts.length).toBe(Math.min(100, opened + 32));
    cluster.opening[opened]!();
  }
  for (const [at, node] of names.entries()) cluster.tell(node, at + 1);
  await expect.poll(() => shown.length).toBe(100);
  expect(notes).toEqual([]);
  end.abort();
  expect(await over).toBe(true);
});

test('of many nodes that are away some are named, and the others are counted once', async () => {
  const { cluster, names } = hundred();
  for (const node of names.slice(0, 40)) cluster.down.add(node);
  cluster.withoutAgent.push('n1', 'n2');
  const { notes, end, over } = asked(cluster);
  await expect.poll(() => notes.at(-1)).toBe('60 of 102 nodes report');
  expect(notes).toEqual([
    'no agent runs on n1, n2: what happens there is missing',
    ...names.slice(0, 5).map(node => `node ${node} is away: no route`),
    '35 more nodes are away: no route',
    '60 of 102 nodes report',
  ]);
  // One of those that were only counted.
  cluster.down.delete(names[30]!);
  await expect.poll(() => notes.at(-1)).toBe(`node ${names[30]} is back`);
  end.abort();
  expect(await over).toBe(false);
});

test('a right that is missing on more nodes than are opened at once is missing', async () => {
  const { cluster } = hundred();
  cluster.right = false;
  await expect(asked(cluster).over).rejects.toThrow('the right to create pods/exec is missing');
  expect(cluster.attempts).toHaveLength(100);
});

test('a question that ends while nodes wait to be opened ends at once', async () => {
  const { cluster } = hundred();
  cluster.opensLater = true;
  const { end, over } = asked(cluster);
  await expect.poll(() => cluster.attempts.length).toBe(32);
  end.abort();
  await over;
  expect(cluster.attempts).toHaveLength(32);
});

test('a right that is missing wherever anybody answers is missing', async () => {
  const cluster = new Cluster();
  for (const node of ['n1', 'n2']) cluster.add(node);
  cluster.forbidden.add('n1');
  cluster.down.add('n2');
  await expect(asked(cluster).over).rejects.toThrow('the right to create pods/exec is missing');
});

test('without --follow all that was told is shown in order, and a node that is away is said', async () => {
  const cluster = new Cluster();
  for (const node of ['n1', 'n2', 'n3']) cluster.add(node);
  cluster.down.add('n3');
  const { shown, notes, over } = asked(cluster, false);
  await expect.poll(() => cluster.running.size).toBe(2);
  cluster.tell('n1', 9);
  cluster.running.get('n1')!.end();
  cluster.tell('n2', 8);
  cluster.running.get('n2')!.end();
  expect(await over).toBe(false);
  expect(shown).toEqual(['n2 8', 'n1 9']);
  expect(notes).toEqual(['node n3 is away: no route']);
});

test('without --follow it says that all have told all', async () => {
  const cluster = new Cluster();
  cluster.add('n1');
  const { over } = asked(cluster, false);
  await expect.poll(() => cluster.running.size).toBe(1);
  cluster.running.get('n1')!.end();
  expect(await over).toBe(true);
});

test('what an agent says that is no object is said once, and hostile notes stay notes', async () => {
  const cluster = new Cluster();
  cluster.add('n1');
  const { notes, end, over } = asked(cluster);
  await expect.poll(() => cluster.running.size).toBe(1);
  for (const line of ['garbage', 'more', '{"kind":"Denial","time":{"toString":1,"valueOf":1}}'])
    cluster.running.get('n1')!.sink.line(line);
  cluster.running.get('n1')!.sink.note('3 new connections lost');
  expect(notes).toEqual([
    'node n1: said what is no denial and no new connection',
    'node n1: 3 new connections lost',
  ]);
  end.abort();
  await over;
});

test('what nodes have recorded goes before what comes, whoever tells of it first', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const cluster = new Cluster();
  cluster.beats = false;
  for (const node of ['n1', 'n2']) cluster.add(node);
  const { shown, end, over } = asked(cluster);
  await expect.poll(() => cluster.running.size).toBe(2);
  cluster.tell('n1', 2);
  cluster.running.get('n1')!.sink.line('');
  cluster.tell('n1', 9);
  cluster.tell('n2', 3);
  // Longer than lines are held back once all agents have sent their recorded ones.
  await vi.advanceTimersByTimeAsync(200);
  expect(shown).toEqual([]);
  cluster.tell('n2', 1);
  cluster.running.get('n2')!.sink.line('');
  await expect.poll(() => shown).toEqual(['n2 1', 'n1 2', 'n2 3', 'n1 9']);
  end.abort();
  await over;
});

test('a node that comes later and lets nobody in is away, and ends nothing', async () => {
  const cluster = new Cluster();
  cluster.add('n1');
  const { shown, notes, end, over } = asked(cluster);
  await expect.poll(() => cluster.running.size).toBe(1);
  cluster.forbidden.add('n2');
  cluster.add('n2');
  await vi.waitFor(() =>
    expect(notes).toEqual(['node n2 is away: the right to create pods/exec is missing']),
  );
  cluster.tell('n1', 1);
  await expect.poll(() => shown).toEqual(['n1 1']);
  cluster.forbidden.clear();
  await expect.poll(() => notes.at(-1)).toBe('node n2 is back');
  end.abort();
  await over;
});

test('however many nodes there are, no ten of them listen to one signal', async () => {
  const cluster = new Cluster();
  for (let n = 0; n < 20; n++) cluster.add(`n${n}`);
  const { end, over } = asked(cluster);
  await expect.poll(() => cluster.running.size).toBe(20);
  for (const signal of cluster.ends) expect(getEventListeners(signal, 'abort').length).toBeLessThanOrEqual(1);
  expect(getEventListeners(end.signal, 'abort').length).toBeLessThanOrEqual(1);
  end.abort();
  await over;
});

test('one node is asked alone, and the others are no part of the answer', async () => {
  const cluster = new Cluster();
  for (const node of ['n1', 'n2']) cluster.add(node);
  cluster.withoutAgent.push('n3');
  const { notes, over } = asked(cluster, false, undefined, 0, 'n2');
  await expect.poll(() => cluster.running.size).toBe(1);
  cluster.running.get('n2')!.end();
  expect([await over, notes, cluster.attempts]).toEqual([true, [], ['n2']]);
  const none = asked(cluster, false, undefined, 0, 'n3');
  expect([await none.over, none.notes]).toEqual([
    false,
    ['no agent runs on n3: what happens there is missing'],
  ]);
});
