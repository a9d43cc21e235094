import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { loadManifests } from '../../src/cli/sources/manifests.ts';
import { topologyOf } from '../lab/topology.ts';
import { demoSocket } from './agents.ts';
import { hintsFor, showHints } from './hints.ts';

const manifests = join(import.meta.dirname, '../../examples/shop');
const { cluster } = await loadManifests(manifests);
const places = {
  topology: topologyOf(cluster),
  namespaceOf: (node: string) => `demo-${node}`,
  sluice: 'sluice',
  home: '/run/demo',
  manifests,
};
const hints = hintsFor(places);

test('hintsFor() asks of a pod the agent of its node', () => {
  const asked = hints.flatMap(text => {
    const [, pod] = /^sluice explain (\S+) /.exec(text) ?? [];
    return pod === undefined ? [] : [[pod, text] as const];
  });
  expect(asked.map(([pod]) => pod)).toEqual(['shop/api', 'monitoring/prometheus']);
  expect(cluster.pods.get('shop/api')!.node).not.toBe([...cluster.nodes.keys()][0]);
  for (const [pod, text] of asked) {
    const { node } = [...cluster.pods.values()].find(({ key }) => key === pod)!;
    expect(text).toContain(`--socket ${demoSocket(node, '/run/demo')}`);
  }
});

test.each(['drops', 'flows'])('hintsFor() has one for %s', command => {
  expect(hints.filter(text => text.startsWith(`sluice ${command} `))).toHaveLength(1);
});

test('showHints() breaks no command, however narrow the terminal', () => {
  vi.stubEnv('COLUMNS', '40');
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  onTestFinished(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });
  showHints(places);
  const lines = write.mock.calls.map(([text]) => String(text)).join('');
  expect(lines.split('\n').length - 1).toBe(hints.length);
});
