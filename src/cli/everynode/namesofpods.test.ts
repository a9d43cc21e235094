import { expect, test } from 'vitest';
import type { Pod } from '../../model/cluster.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import type { Agents } from './agents.ts';
import { namesFrom } from './namesofpods.ts';

const pod = (name: string, node: string): Pod => ({
  ...{ key: `shop/${name}`, namespace: 'shop', name, labels: {}, node, addresses: [] },
  ...{ hostNetwork: false, finished: false, createdAt: '', ports: [] },
});
const PODS = [pod('web', 'n1'), pod('db', 'n2'), pod('late', '')];

const record = (more: object = {}) => ({
  ...{ pod: 'shop/web', name: 'a.test', address: '192.0.2.1', toldMs: 10, untilMs: 70 },
  ...more,
});

/** What each node writes; one that writes nothing is cut off. */
function agentsOf(says: Readonly<Record<string, string>>, asked: string[][] = []) {
  const agents: Agents = {
    list: async () =>
      ['n1', 'n2'].map(node => ({ name: `sluice-${node}`, node, container: 'c', phase: 'Running' })),
    nodes: async () => ['n1', 'n2'],
    run: async ({ node }, words, sink) => {
      asked.push([...words]);
      if (says[node] === undefined) return 'the connection was lost';
      sink.line(says[node]);
      sink.exit?.(0);
      return undefined;
    },
  };
  return async () => agents;
}

const answer = (names: unknown, nowMs = 20) => JSON.stringify({ nowMs, names });

test('the nodes of the pods are asked, and their times are told by our clock', async () => {
  const asked: string[][] = [];
  const from = '10.96.0.10';
  const says = { n1: answer([record({ from })], 20), n2: answer([]) };
  const { known, notes } = await namesFrom(PODS, agentsOf(says, asked), () => 1_020);
  expect(asked).toHaveLength(2);
  expect(asked[0]).toEqual([
    ...['sluice', 'inspect', 'names', '--socket=/run/sluice/sluice.sock'],
    ...['shop/web', 'shop/db', 'shop/late'],
  ]);
  expect([...known.cache.all()]).toEqual([record({ from, toldMs: 1_010, untilMs: 1_070 })]);
  expect([known.nowMs, known.nodes, notes]).toEqual([1_020, ['n1', 'n2'], []]);
});

test('a node that gives no answer is named, and is none of those that are known', async () => {
  const { known, notes } = await namesFrom(PODS, agentsOf({ n1: answer([record()]) }), () => 20);
  expect([known.nodes, notes]).toEqual([['n1'], ['node n2 gave no answer: the connection was lost']]);
});

test.each(['nonsense', '{}', '[]', answer('x'), JSON.stringify({ names: [] })])(
  'an answer of %j is none',
  async line => {
    const { known } = await namesFrom(PODS, agentsOf({ n1: line, n2: answer([]) }), () => 20);
    expect([known.nodes, [...known.cache.all()]]).toEqual([['n2'], []]);
  },
);

test('no node speaks for the pods of another, and a garbled record is none', async () => {
  const garbled = [
    record({ pod: 'shop/db' }),
    record({ pod: 'shop/other' }),
    record({ pod: 7 }),
    record({ name: 'x'.repeat(256) }),
    record({ address: '192.0.2' }),
    record({ untilMs: 'soon' }),
    null,
    'x',
  ];
  const { known } = await namesFrom(PODS, agentsOf({ n1: answer(garbled), n2: answer([]) }), () => 20);
  expect([...known.cache.all()]).toEqual([]);
});

test('an end that is not known stays so, whatever the clocks', async () => {
  const { known } = await namesFrom(PODS, agentsOf({ n1: answer([record({ untilMs: 0 })], 20) }), () => 99);
  expect([...known.cache.all()].map(({ untilMs }) => untilMs)).toEqual([0]);
});

test('where the agents cannot be asked nothing is known of any node, and why is said', async () => {
  const { known, notes } = await namesFrom(
    PODS,
    async () => {
      throw new CommandError('you may not ask the agents: a right is missing');
    },
    () => 20,
  );
  expect(known.nodes).toEqual([]);
  expect(notes).toEqual([
    'what DNS has answered to pods is known to the agents alone: you may not ask the agents: a right is missing',
  ]);
});
