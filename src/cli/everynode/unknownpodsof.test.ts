import { expect, test } from 'vitest';
import { CommandError } from '../../terminal/commanderror.ts';
import type { Agents } from './agents.ts';
import { unknownPodsFrom } from './unknownpodsof.ts';

/** What the agent of each node answers, and how its command ends. */
type Says = Readonly<Record<string, readonly [answer: unknown, code?: number]>>;

async function unknownPods(says: Says) {
  const agents: Agents = {
    list: async () =>
      Object.keys(says).map(node => ({ name: `sluice-${node}`, node, container: 'c', phase: 'Running' })),
    nodes: async () => Object.keys(says),
    run: async ({ node }, _, sink) => {
      const [answer, code = 0] = says[node]!;
      sink.line(JSON.stringify(answer));
      sink.exit?.(code);
      return undefined;
    },
  };
  return unknownPodsFrom(['n1', 'n2'], async () => agents);
}

const status = (deniesUnknownPods: unknown) => ({ kind: 'Status', deniesUnknownPods });

test.each<[string, Says, 'deny' | 'allow' | undefined]>([
  ['that deny them', { n1: [status(true)], n2: [status(true)] }, 'deny'],
  ['that allow them', { n1: [status(false)], n2: [status(false)] }, 'allow'],
  ['that differ', { n1: [status(true)], n2: [status(false)] }, undefined],
  ['of which one is not ready', { n1: [status(true)], n2: [status(true), 1] }, undefined],
  ['of which one is of an earlier version', { n1: [status(true)], n2: [{ kind: 'Status' }] }, undefined],
  ['of which one says something else', { n1: [status(true)], n2: [['Status']] }, undefined],
  ['of which one is not there', { n1: [status(true)] }, undefined],
])('unknownPodsFrom() agents %s', async (_, says, expected) => {
  expect(await unknownPods(says)).toBe(expected);
});

test('unknownPodsFrom() agents that the caller may not ask knows nothing, and other errors stay errors', async () => {
  const failing = (error: Error) => unknownPodsFrom(['n1'], () => Promise.reject(error));
  expect(await failing(new CommandError('the right to list pods is missing'))).toBeUndefined();
  await expect(failing(new TypeError('x'))).rejects.toThrow('x');
});
