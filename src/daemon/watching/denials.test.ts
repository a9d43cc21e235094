/** How faults of the socket, and of naming, affect the names and the counts of denials. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { LogCounts } from '../../kernel/netlink/nflog/logsocket.ts';
import type { LoggedPacket } from '../../kernel/netlink/nflog/messages.ts';
import type { Address } from '../../model/address.ts';
import { packet } from '../../nft/trace/packet.ts';
import { Denials } from './denials.ts';

class Socket {
  counts: LogCounts = { read: 0, lost: 0, garbled: 0 };
  waiting: LoggedPacket[] = [];
  broken = false;
  tellsDialled = true;

  read(_: number, visit: (packet: LoggedPacket) => void): void {
    if (this.broken) throw new Error('recv: EIO');
    for (const each of this.waiting.splice(0)) {
      this.counts = { ...this.counts, read: this.counts.read + 1 };
      visit(each);
    }
  }

  close(): void {}
}

const sockets: Socket[] = [];

vi.mock('../../kernel/netlink/nflog/logsocket.ts', () => ({
  LogSocket: {
    open: () => {
      sockets.push(new Socket());
      return sockets.at(-1);
    },
  },
}));
vi.mock('../../kernel/netlink/nftables/rulecounts.ts', () => ({ readCounters: async () => [] }));

const [from, to] = ['10.1.0.1', '10.1.0.2'] as [Address, Address];
const handed = (port: number): LoggedPacket => ({
  prefix: '',
  hook: 'forward',
  bytes: packet({ from, to, protocol: 'TCP', port, sourcePort: 9 }),
});
/** Neither IPv4 nor IPv6. */
const STRANGE: LoggedPacket = { prefix: '', hook: 'forward', bytes: new Uint8Array(40) };

function site() {
  const lines: string[] = [];
  /** The number of the log line that fails. */
  const faults = { at: -1 };
  const say = (_: object, message: string) => {
    if (lines.length === faults.at) {
      faults.at = -1;
      throw new RangeError('a fault');
    }
    lines.push(message);
  };
  const denials = new Denials({
    node: 'n1',
    unknownPods: 'allow',
    limits: { perSource: { perSecond: 2, burst: 20 }, inAll: { perSecond: 50, burst: 200 } },
    isPossible: true,
    logs: 'all',
    resolved: () => undefined,
    log: { debug: say, info: say, warn: say, error: say },
  });
  denials.start();
  return { denials, lines, faults };
}

beforeEach(() => {
  sockets.length = 0;
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('where the kernel does not say what was dialled, that is said, until Services themselves cannot be read', async () => {
  const { denials } = site();
  const problem = async () => (await denials.facts()).services?.problem;
  expect(await problem()).toBe('they have not been read yet');
  denials.services!.onSource({ state: 'synced' } as never);
  expect(await problem()).toBeUndefined();
  sockets[0]!.tellsDialled = false;
  expect(await problem()).toMatch('NETFILTER_NETLINK_GLUE_CT');
  denials.close();
});

test('a fault of naming leaves other packets their names, and the socket open', async () => {
  const { denials, lines, faults } = site();
  faults.at = 1;
  sockets[0]!.waiting.push(handed(1), handed(2), STRANGE, handed(3));
  await vi.advanceTimersByTimeAsync(100);
  expect(sockets).toHaveLength(1);
  expect(lines).toHaveLength(3);
  expect(lines[1]).toBe('a denied connection was not named: a fault');
  expect(lines[2]).toMatch(/^denied: 10.1.0.1 -> 10.1.0.2:3\/TCP/);
  expect(await denials.facts()).toMatchObject({ read: 4, lost: 2 });
  denials.close();
});

test('packets that come fast are read in fewer turns, and the next few at once again', async () => {
  const { denials } = site();
  const waiting = sockets[0]!.waiting;
  const readAfter = async (ms: number, ...ports: number[]) => {
    waiting.push(...ports.map(handed));
    await vi.advanceTimersByTimeAsync(ms);
    return (await denials.facts()).read;
  };
  expect(await readAfter(40, 1, 2, 3)).toBe(3);
  expect(await readAfter(120, 4)).toBe(3);
  expect(await readAfter(40)).toBe(4);
  expect(await readAfter(40, 5)).toBe(5);
  denials.close();
});

test('counts go on when the socket is opened anew', async () => {
  const { denials } = site();
  sockets[0]!.waiting.push(handed(1), handed(2));
  await vi.advanceTimersByTimeAsync(100);
  sockets[0]!.counts = { read: 2, lost: 3, garbled: 1 };
  sockets[0]!.broken = true;
  await vi.advanceTimersByTimeAsync(100);
  expect(await denials.facts()).toMatchObject({ read: 2, lost: 4, error: 'recv: EIO' });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(sockets).toHaveLength(2);
  sockets[1]!.waiting.push(handed(3));
  await vi.advanceTimersByTimeAsync(100);
  expect(await denials.facts()).toMatchObject({ read: 3, lost: 4 });
  denials.close();
});
