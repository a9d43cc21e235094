/** What changes of a node's links, addresses, routes and rules is noticed, also where the kernel says so only of a part. */
import { test as base, expect } from 'vitest';
import { Netns } from '../../bench/lab/unnamed.ts';
import { ChangeWatch } from '../../src/kernel/netlink/route/routewatch.ts';

interface Ground {
  readonly netns: Netns;
  readonly watch: ChangeWatch;
  ip(command: string): void;
  /** The kernel sends some notices late: of an IPv6 address that is in use only after a while. */
  settled(): Promise<void>;
}

// Each test waits for its own kernel to be quiet, and so they wait together.
const test = base.extend<{ ground: Ground }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from it what a fixture needs.
  ground: async ({}, use) => {
    const netns = new Netns();
    const ip = (command: string) => void netns.exec('ip', command.split(' '));
    for (const command of [
      'link set lo up',
      'link add up0 type veth peer name up1',
      'link set up1 up',
      'link set up0 up',
      'address add 10.90.0.1/24 dev up0',
      'address add fd90::1/64 dev up0 nodad',
      'route add 10.91.0.0/16 via 10.90.0.2',
      'route add fd91::/64 via fd90::2',
    ])
      ip(command);
    const watch = netns.run(() => new ChangeWatch());
    const settled = async () => {
      do await new Promise(resolve => setTimeout(resolve, 500));
      while (watch.hasChanged());
    };
    await use({ netns, watch, ip, settled });
    watch.close();
    netns.close();
  },
});

test.concurrent.for([
  'route add 10.92.0.0/16 via 10.90.0.2',
  'route del 10.91.0.0/16',
  'route replace 10.91.0.0/16 via 10.90.0.3',
  'route add 10.93.0.0/16 via 10.90.0.2 table 99',
  'route add unreachable fd92::/64',
  'route del fd91::/64',
  'rule add from 10.90.0.9 table 99',
  '-6 rule add from fd90::9 table 99',
  'address add 10.90.0.7/32 dev up0',
  'address del 10.90.0.1/24 dev up0',
  'address del fd90::1/64 dev up0',
  'link set up0 down',
  'link set up1 down',
  'link del up0',
  'link add other type bridge',
])('hasChanged() says so after `ip %s`, once', async (command, { ground: { watch, ip, settled } }) => {
  await settled();
  ip(command);
  expect(watch.hasChanged()).toBe(true);
  await settled();
  expect(watch.hasChanged()).toBe(false);
});

test.concurrent('hasChanged() says so where notices were lost, once', async ({
  ground: { netns, watch, ip, settled },
}) => {
  await settled();
  const routes = Array.from(
    { length: 2000 },
    (_, i) => `route add 10.100.${i >> 8}.${i & 255} via 10.90.0.2`,
  );
  netns.exec('ip', ['-batch', '-'], routes.join('\n'));
  expect(watch.hasChanged()).toBe(true);
  expect(watch.hasChanged()).toBe(false);
  ip('route del 10.91.0.0/16');
  expect(watch.hasChanged()).toBe(true);
});

test.concurrent('reading changes nothing', async ({ ground: { watch, ip, settled } }) => {
  await settled();
  ip('route show table all');
  ip('link show');
  expect(watch.hasChanged()).toBe(false);
});
