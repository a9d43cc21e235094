/** A queue that is taken over while answers wait, as after an agent that was killed: none of them waits for ever. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { QueueSocket } from '../../../src/daemon/dns/queuesocket.ts';
import { openNftKernel } from '../../../src/kernel/netlink/nftables/nft-kernel.ts';
import { plan } from '../../../src/nft/plan/plan.ts';
import { type Chain, QUEUE_FORMS, type QueueBy, type Ruleset } from '../../../src/nft/ruleset.ts';
import { Netns } from '../netns.ts';

const NUMBER = 53;
const TAKEN_OVER = 200;

/** Also larger than the kernel’s answers are, without a pause, so that some come between any two system calls. */
const FLOOD = `
  const socket = require('node:dgram').createSocket('udp4');
  const send = size => socket.send(Buffer.alloc(size), 9, '127.0.0.1', () => send(size === 100 ? 6000 : 100));
  for (let i = 0; i < 4; i++) send(100);
  console.log('sends');
`;

async function queueIn(netns: Netns): Promise<void> {
  const kernel = await netns.run(() => openNftKernel());
  const tried: unknown[] = [];
  for (const by of QUEUE_FORMS) {
    const { ruleset, generation } = await kernel.dump();
    const taken = await kernel.commit(plan(ruleset, queued(by)), generation).then(
      () => true,
      error => void tried.push(error),
    );
    if (taken) return kernel.close();
  }
  throw new AggregateError(tried, 'no form of queue');
}

function queued(by: QueueBy): Ruleset {
  const exprs = [{ kind: 'queue', number: NUMBER, by } as const];
  const hook = { hook: 'output', priority: 0, policy: 'accept' } as const;
  const chain: Chain = { name: 'all', hook, rules: [{ exprs }] };
  return { tables: new Map([['ip', { sets: new Map(), chains: new Map([['all', chain]]) }]]) };
}

test('no packet that comes while a queue is being set up is lost, and none keeps it from being set up', async () => {
  const netns = new Netns();
  netns.exec('ip', ['link', 'set', 'lo', 'up', 'mtu', '65535']);
  await queueIn(netns);
  const flood = netns.run(() =>
    spawn(process.execPath, ['-e', FLOOD], { stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  try {
    await once(flood.stdout, 'data');
    for (let i = 0; i < TAKEN_OVER; i++) {
      const queue = netns.run(() => new QueueSocket(NUMBER));
      const seen = new Set<number>();
      const take = () => queue.read(256, ({ id }) => seen.add(id), true);
      for (let tries = 0; seen.size < 2 && tries < 1_000; tries++) take();
      // The kernel numbers them from one on.
      expect(Math.min(...seen), `queue ${i}`).toBe(1);
      queue.close();
      if (i % 20 === 0) await setImmediate();
    }
  } finally {
    flood.kill('SIGKILL');
    netns.close();
  }
}, 120_000);
