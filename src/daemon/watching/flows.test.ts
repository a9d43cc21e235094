/** How faults of the socket, of naming and of clients affect new connections and their counts. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { nodeEvent, shopPod } from '../../../test/support/scenarios/shop.ts';
import type { NewConnection } from '../../kernel/netlink/conntrack/newconnections.ts';
import type { Address } from '../../model/address.ts';
import { type ClusterEvent, ClusterState } from '../../model/cluster.ts';
import { ModelView } from '../../observe/denials/modelview.ts';
import type { FlowBatch } from '../../observe/flows/source.ts';
import { FlowReader } from './flows.ts';

class Socket {
  lost = 0;
  waiting: NewConnection[] = [];
  isBroken = false;
  isClosed = false;

  read(mayGoOn: (count: number) => boolean, visit: (connection: NewConnection) => void): void {
    if (this.isBroken) throw new Error('recv: EIO');
    for (let count = 0; this.waiting.length > 0 && mayGoOn(count); count++) visit(this.waiting.shift()!);
  }

  close(): void {
    this.isClosed = true;
  }
}

const sockets: Socket[] = [];
let isRefused = false;

vi.mock('../../kernel/netlink/conntrack/newconnections.ts', () => ({
  NewConnections: {
    open: () => {
      if (isRefused) throw new Error('bind: EPERM');
      sockets.push(new Socket());
      return sockets.at(-1);
    },
  },
}));

beforeEach(() => {
  vi.useFakeTimers();
  sockets.splice(0);
  isRefused = false;
});
afterEach(() => void vi.useRealTimers());

const [OURS, OTHER] = ['10.1.0.1', '9.9.9.9'] as [Address, Address];
const connection = (port: number, from = OURS): NewConnection => ({
  flow: { from, to: OTHER, protocol: 'TCP', port },
});

function site() {
  const warnings: string[] = [];
  const view = new ModelView(new ClusterState(), { node: 'n1', unknownPods: 'allow', now: () => 0 });
  const events: ClusterEvent[] = [nodeEvent('n1', ['172.18.0.1']), shopPod('shop/db', 'n1', [OURS])];
  for (const event of events) view.apply(event);
  const log = { debug: () => undefined, warn: (_: object, text: string) => void warnings.push(text) };
  const flows = new FlowReader({
    view,
    ownAddresses: () => new Set(),
    log: log as unknown as ConstructorParameters<typeof FlowReader>[0]['log'],
  });
  const batches: FlowBatch[] = [];
  return { flows, view, warnings, batches, follow: () => flows.follow(batch => batches.push(batch)) };
}

const turn = () => vi.advanceTimersByTime(40);

test('the first who follows opens the socket, the last closes it, and nothing is told in between', () => {
  const { flows, batches, follow } = site();
  const [first, second] = [follow(), follow()];
  expect(sockets).toHaveLength(1);
  first();
  first();
  sockets[0]!.waiting.push(connection(1), connection(2, OTHER));
  turn();
  turn();
  expect(batches.map(({ flows: all }) => all.map(({ port }) => port))).toEqual([[1]]);
  expect(flows.facts()).toEqual({ isOpen: true, seen: 1, others: 1, lost: 0 });
  second();
  expect([sockets[0]!.isClosed, flows.facts().isOpen]).toEqual([true, false]);
});

test('what is lost is told once, and counted over all sockets', () => {
  const { flows, batches, follow } = site();
  const end = follow();
  sockets[0]!.lost = 5;
  turn();
  turn();
  end();
  follow();
  sockets[1]!.lost = 2;
  turn();
  expect(batches.map(({ lost }) => lost)).toEqual([5, 2]);
  expect(flows.facts().lost).toBe(7);
});

test('a connection that cannot be named is lost, and keeps no other from its name', () => {
  const { view, batches, warnings, follow } = site();
  follow();
  const fault = vi.spyOn(view, 'ownerOf').mockImplementationOnce(() => {
    throw new RangeError('a fault');
  });
  sockets[0]!.waiting.push(connection(1), connection(2));
  turn();
  fault.mockRestore();
  expect(batches.map(({ flows, lost }) => [flows.length, lost])).toEqual([[1, 1]]);
  expect(warnings).toEqual(['a new connection was not named: a fault']);
});

test('a socket that breaks or is refused is opened again, and the facts say why nothing comes', () => {
  const { flows, batches, warnings, follow } = site();
  const end = follow();
  sockets[0]!.isBroken = true;
  turn();
  expect(flows.facts()).toMatchObject({ isOpen: false, error: 'recv: EIO' });
  isRefused = true;
  vi.advanceTimersByTime(10_000);
  expect(flows.facts().error).toBe('bind: EPERM');
  isRefused = false;
  vi.advanceTimersByTime(10_000);
  sockets[1]!.waiting.push(connection(1));
  turn();
  expect(batches).toHaveLength(1);
  expect(warnings).toHaveLength(2);
  end();
  vi.advanceTimersByTime(60_000);
  expect(sockets).toHaveLength(2);
});

test('a turn ends, however much there is, and who follows with a fault harms nobody', () => {
  const { flows, batches, follow } = site();
  flows.follow(() => {
    throw new Error('a fault');
  });
  follow();
  vi.spyOn(performance, 'now').mockImplementation(() => Date.now() + 1_000 * calls++);
  let calls = 0;
  sockets[0]!.waiting.push(...Array.from({ length: 1_000 }, (_, port) => connection(port)));
  turn();
  vi.restoreAllMocks();
  expect(batches.map(({ flows: all }) => all.length)).toEqual([256]);
});
