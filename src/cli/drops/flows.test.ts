/** The messages of `sluice flows --follow` when Ctrl-C ends it. */
import { afterEach, expect, test, vi } from 'vitest';
import type { Address } from '../../model/address.ts';
import type { SeenFlow } from '../../observe/flows/seenflow.ts';
import { flowsCommand } from './flows.ts';

const flow: SeenFlow = {
  ...{ number: 1, atMs: 0, protocol: 'TCP', port: 80, family: 'ip', directions: ['egress'] },
  ...{ from: { address: '10.0.0.1' as Address }, to: { address: '10.0.0.2' as Address } },
};
const agent = {
  async *flows() {
    yield { flows: [flow, flow], denials: [], lost: 3, skipped: 1 };
  },
};
vi.mock('../sources/askagent.ts', async original => ({
  ...(await original<object>()),
  askAgent: (_: string, ask: (asked: typeof agent) => unknown) => ask(agent),
}));

afterEach(() => {
  vi.restoreAllMocks();
  process.removeAllListeners('SIGINT');
});

test.each(['text', 'json'] as const)(
  'flowsCommand() says how many there were, and how many are lost: %s',
  async output => {
    const said = { stdout: '', stderr: '' };
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    for (const stream of ['stdout', 'stderr'] as const)
      vi.spyOn(process[stream], 'write').mockImplementation(text => {
        said[stream] += text;
        return true;
      });
    await flowsCommand({ socket: '/s', output, agents: 'sluice', follow: true, for: 10 });
    process.emit('SIGINT');
    expect(said[output === 'text' ? 'stdout' : 'stderr']).toMatch(
      /(^|\n)2 new connections and 0 denied ones in 0 s; 4 lost\n$/,
    );
    expect(kill.mock.calls).toEqual([[process.pid, 'SIGINT']]);
  },
);
