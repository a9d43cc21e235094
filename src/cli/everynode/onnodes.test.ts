import { expect, test } from 'vitest';
import { HANG } from '../../terminal/hang.ts';
import { type AgentOutput, type AgentPod, type Agents, MissingRight } from './agents.ts';
import { summaryLines } from './clusterstatus.ts';
import { awayTexts, runOnNodes } from './onnodes.ts';

type Run = (node: string, sink: AgentOutput, end: AbortSignal) => string | undefined | Promise<string>;

const pod = (node: string, phase = 'Running'): AgentPod => ({
  name: `sluice-${node}`,
  node,
  container: 'agent',
  phase,
});

function agentsOf(pods: readonly AgentPod[], nodes: readonly string[], run: Run): Agents {
  return {
    list: async () => pods,
    nodes: async () => nodes,
    run: async ({ node }, _, sink, { end }) => run(node, sink, end),
  };
}

const answering: Run = (node, sink) => {
  sink.line(`rules of ${node}`);
  sink.exit?.(node === 'n2' ? 1 : 0);
  return node === 'n2' ? 'the command failed' : undefined;
};
const note = () => undefined;

test('every node has an answer, in order of names: what its agent writes, or why there is none', async () => {
  const pods = [pod('n2'), pod('n1'), pod('n4', 'Pending')];
  const answers = await runOnNodes(agentsOf(pods, ['n1', 'n2', 'n3', 'n4'], answering), ['sluice'], { note });
  expect(answers).toEqual([
    { node: 'n1', lines: ['rules of n1'], notes: [], exitCode: 0 },
    { node: 'n2', lines: ['rules of n2'], notes: [], exitCode: 1 },
    { node: 'n3', lines: [], notes: [], away: 'no agent runs on it' },
    { node: 'n4', lines: [], notes: [], away: 'its agent is Pending' },
  ]);
  expect(awayTexts(answers)).toEqual([
    'node n3 gave no answer: no agent runs on it',
    'node n4 gave no answer: its agent is Pending',
  ]);
});

test('only the named node is asked, also one that has no agent', async () => {
  const asked: string[] = [];
  const agents = agentsOf([pod('n1'), pod('n2')], ['n1', 'n2'], (node, sink, end) => {
    asked.push(node);
    return answering(node, sink, end);
  });
  const only = await runOnNodes(agents, [], { only: ['n2', 'n9'], note });
  expect(asked).toEqual(['n2']);
  expect(only.map(({ node, away }) => [node, away])).toEqual([
    ['n2', undefined],
    ['n9', 'no agent runs on it'],
  ]);
});

test('agents of another version are a note, also where nodes are named, and of these alone', async () => {
  const [notes, compared]: [string[], string[][]] = [[], []];
  const agents: Agents = {
    ...agentsOf([pod('n1'), pod('n2')], ['n1', 'n2'], answering),
    versionNote: async pods => {
      compared.push(pods.map(({ node }) => node));
      return pods.length === 2 ? 'this command line is older' : undefined;
    },
  };
  await runOnNodes(agents, [], { note: text => notes.push(text) });
  await runOnNodes(agents, [], { only: ['n2'], note: text => notes.push(text) });
  expect([compared, notes]).toEqual([[['n1', 'n2'], ['n2']], ['this command line is older']]);
});

test('a command that ended without an exit code is no answer, and neither is one without end', async () => {
  const agents = agentsOf([pod('n1'), pod('n2')], ['n1', 'n2'], (node, sink, end) => {
    if (node === 'n1') return 'it does not answer';
    while (!end.aborted) sink.line('x'.repeat(1 << 20));
    return undefined;
  });
  const answers = await runOnNodes(agents, [], { note });
  expect(answers.map(({ away, lines }) => [away, lines])).toEqual([
    ['it does not answer', []],
    ['its answer is too long', []],
  ]);
});

test('one node that refuses is away; where all refuse, the right is missing', async () => {
  const refusing = (refused: readonly string[]): Run => {
    return (node, sink, end) => {
      if (refused.includes(node)) throw new MissingRight('the right to create pods/exec is missing');
      return answering(node, sink, end);
    };
  };
  const pods = [pod('n1'), pod('n2')];
  const [first] = await runOnNodes(agentsOf(pods, [], refusing(['n1'])), [], { note });
  expect(first!.away).toBe('the right to create pods/exec is missing');
  await expect(runOnNodes(agentsOf(pods, [], refusing(['n1', 'n2'])), [], { note })).rejects.toThrow(
    'the right to create pods/exec is missing',
  );
});

test('no more than 32 nodes are asked at once', async () => {
  const names = Array.from({ length: 100 }, (_, at) => `n${at}`);
  let [now, most] = [0, 0];
  const agents = agentsOf(
    names.map(name => pod(name)),
    names,
    async (_, sink) => {
      most = Math.max(most, ++now);
      await Promise.resolve();
      now--;
      sink.exit?.(0);
      return '';
    },
  );
  expect(await runOnNodes(agents, [], { note })).toHaveLength(100);
  expect(most).toBe(32);
});

test('summaryLines() has a line for a node that is well, and one for each finding of another', () => {
  const status = (ready: boolean, checks: object[], problems: string[] = []) =>
    JSON.stringify({ kind: 'Status', ready, checks, problems });
  const fine = { name: 'last-commit', state: 'ok', reason: 'none was needed' };
  const full = { name: 'conntrack-fill', state: 'warn', reason: '85 % of it is in use' };
  const wrong = { name: 'own-node', state: 'fail', reason: 'there is no Node nod3' };
  const said = { notes: [], exitCode: 0 };
  expect(
    summaryLines([
      { node: 'n1', lines: [status(true, [fine])], ...said },
      { node: 'node2', lines: [status(true, [fine, full], ['a problem'])], ...said },
      { node: 'n3', lines: [status(false, [wrong])], ...said, exitCode: 1 },
      { node: 'n4', lines: [], notes: [], away: 'no agent runs on it' },
      { node: 'n5', lines: ['{'], notes: ['sluice: no agent on this node'], exitCode: 2 },
    ]).map(line => line.replaceAll(HANG, '')),
  ).toEqual([
    'n1     ready      all checks are ok',
    'node2  ready      warn conntrack-fill: 85 % of it is in use',
    '                  1 problem in what it reads: --node node2 lists it all',
    'n3     not ready  fail own-node: there is no Node nod3',
    'n4     away       no agent runs on it',
    'n5     away       sluice: no agent on this node',
  ]);
});
