import { expect, test } from 'vitest';
import type { Address } from '../../model/address.ts';
import type { Connection, Conntrack } from '../../nft/conntrack.ts';
import { connectedPairs } from './watcher.ts';

const pair = (pod: string, peer: string) => ({ pod: pod as Address, peer: peer as Address });

function tracking(...connections: [from: string, to: string, protocol: 'TCP' | 'UDP', unreplied?: true][]) {
  const read: Conntrack['read'] = async (_, wanted, visit) => {
    for (const [from, to, protocol, unreplied] of connections) {
      const flow = { from: from as Address, to: to as Address, protocol, port: 443 };
      const connection: Connection = { flow, handle: new Uint8Array(), ...(unreplied && { unreplied }) };
      if (wanted(flow)) visit(connection);
    }
  };
  return { missingFeatures: [], read, has: async () => true, delete: async () => 0, close: () => {} };
}

test('connectedPairs() answers those with a connection that the pod opened, each once', async () => {
  const conntrack = tracking(
    ['10.1.0.1', '192.0.2.1', 'TCP'],
    ['10.1.0.1', '192.0.2.1', 'TCP'],
    ['192.0.2.2', '10.1.0.1', 'TCP'], // the other way
    ['10.1.0.1', '192.0.2.3', 'TCP', true], // unanswered
    ['10.1.0.1', '192.0.2.4', 'UDP', true], // logs, for one
    ['10.1.0.2', '192.0.2.5', 'TCP'], // another pod's
  );
  const asked = [1, 2, 3, 4, 5].map(i => pair('10.1.0.1', `192.0.2.${i}`));
  expect(await connectedPairs(conntrack, asked)).toEqual([asked[0], asked[3]]);
});
