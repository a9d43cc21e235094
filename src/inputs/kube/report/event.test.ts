import { describe, expect, test } from 'vitest';
import type { ObjectReference, Problem } from '../../../model/problem.ts';
import { type EventSpec, eventName, eventObject, eventPath } from './event.ts';
import { ProblemEvents, problemSpecs } from './problemevents.ts';

const ABOUT: ObjectReference = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  namespace: 'shop',
  name: 'web',
  uid: '6c2b',
  generation: 3,
};
const SPEC: EventSpec = { about: ABOUT, type: 'Warning', reason: 'InvalidPolicy', note: 'a is no b; c' };
const { namespace: _, ...CLUSTER_WIDE } = { ...ABOUT, kind: 'ClusterNetworkPolicy', name: 'platform' };
const AT = new Date('2026-03-04T05:06:07.890Z');

describe('eventObject()', () => {
  test('is what kubectl looks for: kind, name, namespace and uid of the object', () => {
    expect(eventObject(SPEC, { node: 'node-1', at: AT })).toEqual({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: expect.stringMatching(/^sluice\.[0-9a-f]{32}$/), namespace: 'shop' },
      involvedObject: {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
        namespace: 'shop',
        name: 'web',
        uid: '6c2b',
      },
      type: 'Warning',
      reason: 'InvalidPolicy',
      message: 'a is no b; c (generation 3)',
      source: { component: 'sluice', host: 'node-1' },
      reportingComponent: 'sluice',
      reportingInstance: 'node-1',
      firstTimestamp: '2026-03-04T05:06:07Z',
      lastTimestamp: '2026-03-04T05:06:07Z',
      count: 1,
    });
    expect(eventPath(SPEC)).toBe('/api/v1/namespaces/shop/events');
  });

  test('is in namespace default for an object that lives in none, which it says of no namespace', () => {
    const spec = { ...SPEC, about: CLUSTER_WIDE };
    const event = eventObject(spec, { node: 'node-1', at: AT });
    expect(event).toMatchObject({ metadata: { namespace: 'default' }, involvedObject: { name: 'platform' } });
    expect(event).not.toHaveProperty('involvedObject.namespace');
    expect(eventPath(spec)).toBe('/api/v1/namespaces/default/events');
  });

  test.each([
    ['ASCII', 'x'.repeat(5000)],
    ['three bytes a character', '語'.repeat(2000)],
    ['four bytes a character, off the grid', `xx${'🦥'.repeat(2000)}`],
  ])('has a message of 1,024 bytes at most: %s', (_, note) => {
    const { message } = eventObject({ ...SPEC, note }, { node: 'n', at: AT }) as { message: string };
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(1024);
    expect(Buffer.byteLength(message)).toBeGreaterThan(1000);
    expect(message).toMatch(/[^\uFFFD]…$/);
  });
});

describe('eventName()', () => {
  test('is the same for the same spec, whoever says it and whenever', () => {
    const [one, two] = ['one', 'two'].map(node => eventObject({ ...SPEC }, { node, at: new Date() }));
    expect(one).toHaveProperty('metadata.name', eventName(SPEC));
    expect(two).toHaveProperty('metadata.name', eventName(SPEC));
  });

  test('has a message of one line that nothing in it leaves, whatever it quotes', () => {
    const note = 'spec.x\x1b[2J\r\n\x9b31m is no "\u202e\u2028"';
    const { message } = eventObject({ ...SPEC, note }, { node: 'n', at: AT }) as { message: string };
    expect(message).toBe('spec.x\\x1b[2J\\x0d\\x0a\\x9b31m is no "\\u{202e}\\u{2028}" (generation 3)');
  });

  test.each<[string, Partial<EventSpec>]>([
    ['another generation', { about: { ...ABOUT, generation: 4 } }],
    ['another object of the same name', { about: { ...ABOUT, uid: 'ffff' } }],
    ['another kind', { about: { ...ABOUT, kind: 'Pod' } }],
    ['another note', { note: 'a is no c; c' }],
    ['another reason', { reason: 'DoubtfulPolicy' }],
  ])('is another for %s', (_, other) => {
    expect(eventName({ ...SPEC, ...other })).not.toBe(eventName(SPEC));
  });
});

const problem = (message: string, about: ObjectReference | undefined = ABOUT): Problem => ({
  severity: 'error',
  object: 'NetworkPolicy shop/web',
  field: 'spec',
  message,
  effect: 'it is ignored',
  ...(about && { about }),
});

describe('ProblemEvents', () => {
  const said: string[] = [];
  const taken: string[] = [];
  const poster = {
    post: ({ note }: EventSpec) => said.push(note) > 0,
    withdraw: (name: string) => void taken.push(name),
  };

  test('tells again what found no room to wait, and nothing else', () => {
    let mayWait = false;
    const posted: string[] = [];
    const post = ({ note }: EventSpec) => posted.push(note) > 0 && mayWait;
    const full = { post, withdraw: () => {} };
    const events = new ProblemEvents(full);
    const lost = problem('is lost');
    events.report([lost]);
    mayWait = true;
    events.report([lost, problem('is b')]);
    events.report([lost]);
    expect(posted).toEqual([
      'spec is lost; it is ignored',
      'spec is lost; it is ignored',
      'spec is b; it is ignored',
    ]);
  });

  test.each([
    [1, ['a', 'a', 'a', 'b', 'b', 'b']],
    [300, ['a', 'b']], // others do
  ])('tells again what is still wrong, of %i nodes some few by lot', async (nodes, expected) => {
    const posted: string[] = [];
    const post = ({ note }: EventSpec) => posted.push(note.charAt('spec is '.length)) > 0;
    const events = new ProblemEvents({ post, withdraw: () => {} });
    const stop = new AbortController();
    let slept = 0;
    const sleep = async (ms: number) => {
      expect(ms).toBeLessThan(30 * 60_000); // a server keeps Events for an hour
      if (++slept === 3) events.report([problem('is b')]);
      if (slept === 5) stop.abort();
    };
    events.report([problem('is a')]);
    await events.repeat({ sleep, now: () => 0, random: () => 0.5 }, () => nodes, stop.signal);
    expect(posted).toEqual(expected);
  });

  test('tells each problem when it begins, takes it back when it ends, and tells it again when it returns', () => {
    const events = new ProblemEvents(poster);
    const [a, b] = [problem('is a'), problem('is b')];
    events.report([a]);
    events.report([a, b]);
    expect(said).toEqual(['spec is a; it is ignored', 'spec is b; it is ignored']);
    events.report([b]);
    expect(taken).toEqual([eventName(problemSpecs([a])[0]!)]);
    events.report([]);
    expect(said).toHaveLength(2);
    events.report([a]);
    expect(said).toHaveLength(3);
  });

  test('tells nothing of what is in a file, or is no policy', () => {
    expect(problemSpecs([{ ...problem('is a'), about: undefined } as never])).toEqual([]);
  });

  test('tells twenty problems of one policy at most, and all others of another', () => {
    const many = Array.from({ length: 30 }, (_, i) => problem(`is ${i}`));
    const other = problem('is other', { ...ABOUT, name: 'other' });
    expect(problemSpecs([...many, other]).map(({ note }) => note)).toEqual([
      ...many.slice(0, 20).map(({ message }) => `spec ${message}; it is ignored`),
      'spec is other; it is ignored',
    ]);
  });

  test('tells warnings as warnings: Kubernetes has no word for errors', () => {
    const [spec] = problemSpecs([{ ...problem('is a'), severity: 'warning' }]);
    expect(spec).toMatchObject({ type: 'Warning', reason: 'DoubtfulPolicy' });
  });
});
