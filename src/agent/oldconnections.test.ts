import { expect, test } from 'vitest';
import type { Address } from '../model/address.ts';
import type { Flow } from '../model/flow.ts';
import type { Connection, Conntrack } from '../nft/conntrack.ts';
import { OldConnections } from './oldconnections.ts';

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
    shortfalls: [],
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
  return { said, deleted, conntrack, old: new OldConnections(conntrack, { info: say, warn: say }) };
}

test('what has one of the addresses at an end is forgotten, and nothing else', async () => {
  const [to, from, other] = [
    flow('10.0.0.1', '10.0.0.2'),
    flow('10.0.0.2', '10.0.0.3'),
    flow('10.0.0.1', '10.0.0.3'),
  ];
  const { old, deleted, said } = table(to, from, other);
  await old.forget([at('10.0.0.2')]);
  expect(deleted).toEqual([to, from]);
  expect(said).toEqual(['forgot 2 open connections of who had 10.0.0.2 before']);
});

test('of all connections only the wanted are forgotten, and where there is none nothing is said', async () => {
  const [udp, tcp] = [flow('10.0.0.1', '10.0.0.2'), flow('10.0.0.1', '10.0.0.2', 'TCP')];
  const { old, deleted, said } = table(udp, tcp);
  await old.forget('all', ({ protocol }) => protocol === 'UDP');
  expect(deleted).toEqual([udp]);
  await old.forget([at('10.0.0.9')]);
  expect(said).toHaveLength(1);
});

test('a table that cannot be read keeps no pod from starting', async () => {
  const { old, conntrack, said } = table();
  conntrack.read = () => Promise.reject(new Error('ENOMEM'));
  await old.forget([at('10.0.0.2')]);
  expect(said).toEqual(['open connections of who had 10.0.0.2 before are left to policy: ENOMEM']);
});
