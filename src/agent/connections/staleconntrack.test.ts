import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Address } from '../../model/address.ts';
import type { Flow } from '../../model/flow.ts';
import type { Connection, Conntrack } from '../../nft/conntrack.ts';
import { StaleConntrack } from './staleconntrack.ts';

const at = (text: string) => text as Address;
const flow = (from: string, to: string, protocol: Flow['protocol'] = 'UDP'): Flow => ({
  from: at(from),
  to: at(to),
  protocol,
});
const connection = (of: Flow): Connection => ({ flow: of, handle: new Uint8Array() });

function table(...flows: Flow[]) {
  const said: string[] = [];
  const deleted: Flow[] = [];
  const conntrack: Conntrack = {
    missingFeatures: [],
    read: async (about, wanted, visit) => {
      const concerns = ({ from, to }: Flow) => about === 'all' || about.includes(from) || about.includes(to);
      for (const one of flows) if (concerns(one) && wanted(one)) visit(connection(one));
    },
    has: async () => true,
    delete: async connections => {
      deleted.push(...connections.map(({ flow: of }) => of));
      return connections.length;
    },
    close: () => {},
  };
  const say = (_: object, message: string) => void said.push(message);
  const vacant = () => (address: Address) => address === '10.0.0.9';
  return { said, deleted, conntrack, old: new StaleConntrack(conntrack, vacant, { info: say, warn: say }) };
}

test('what has an address of who left at an end is forgotten before the next one has it, and nothing else', async () => {
  const [to, from] = [flow('10.0.0.1', '10.0.0.2'), flow('10.0.0.2', '10.0.0.3')];
  const { old, deleted, said } = table(to, from, flow('10.0.0.1', '10.0.0.3'));
  old.sweep();
  old.released([at('10.0.0.2')]);
  old.released([at('10.0.0.4')]);
  await old.flushed([at('10.0.0.2')]);
  expect(deleted).toEqual([to, from]);
  expect(said).toEqual(['forgot 2 open connections of who had 10.0.0.2, 10.0.0.4 before']);
});

test('nobody is cleared before the first sweep, which forgets what leads to nobody', async () => {
  const [vacant, other] = [flow('10.0.0.1', '10.0.0.9'), flow('10.0.0.1', '10.0.0.2')];
  const { old, deleted } = table(vacant, other);
  let isCleared = false;
  const cleared = old.flushed([at('10.0.0.9')]).then(() => {
    isCleared = true;
  });
  await setImmediate();
  expect(isCleared).toBe(false);
  old.sweep();
  await cleared;
  expect(deleted).toEqual([vacant]);
});

test('of those that a port led only what was led is forgotten, and where there is none nothing is said', async () => {
  const [udp, tcp] = [flow('10.0.0.1', '10.0.0.2'), flow('10.0.0.1', '10.0.0.2', 'TCP')];
  const { old, deleted, said } = table(udp, tcp);
  await old.redirected(({ protocol }) => protocol === 'UDP');
  expect(deleted).toEqual([udp]);
  await old.redirected(() => false);
  expect(said).toEqual(['forgot 1 open connection of who had a host port before']);
});

test('a table that cannot be read keeps no pod from starting', async () => {
  const { old, conntrack, said } = table();
  conntrack.read = () => Promise.reject(new Error('ENOMEM'));
  old.sweep();
  await old.flushed([at('10.0.0.2')]);
  expect(said).toEqual([
    'open connections of who had addresses that no pod has before are left to policy: ENOMEM',
  ]);
});
