/** Who opened the connections that fill the kernel's table is counted by pod; what policy denies takes no room in it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { openersOf } from '../../../src/api/rpc/nodeview.ts';
import { openConntrack } from '../../../src/kernel/netlink/conntrack/conntrack.ts';
import { ADDRESSES, Ground, type Host } from './ground.ts';

let ground: Ground;

beforeAll(async () => {
  ground = await Ground.build({ network: 'ptp' });
});

afterAll(() => ground.remove());

/** Datagrams that nobody answers: each opens a connection of its own. */
function send(from: Host, to: string, count: number): void {
  const line = `for port in $(seq 2001 $((2000 + ${count}))); do echo > /dev/udp/${to}/$port; done`;
  ground.exec(from, 'bash', ['-c', line]);
}

test('openersOf() names the pods behind the entries of the kernel, of both families', async () => {
  const cluster = await ground.enforce();
  send('loose', ADDRESSES.outside.ip, 7);
  send('loose', ADDRESSES.outside.ip6, 2);
  send('friend', ADDRESSES.victim.ip, 3);
  send('outside', ADDRESSES.friend.ip, 4);
  send('node', ADDRESSES.outside.ip6, 1);
  send('attacker', ADDRESSES.outside.ip, 50);
  const open = () => inNamespace(ground.path('node'), () => openConntrack());
  expect(await openersOf(open, cluster, 'n1')).toEqual({
    value: {
      pods: [
        { pod: 'shop/loose', opened: 9 },
        { pod: 'shop/friend', opened: 3 },
      ],
      others: 5,
    },
  });
});
