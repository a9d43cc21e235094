/** What is in use goes on; what has ended opens nothing more, and what is open of it stays, over restarts too (C41). */
import { expect, test } from 'vitest';
import { policyText, SLOW } from '../../support/names/ground.ts';
import { hearingGround } from './hearingground.ts';

/** Seconds: the grace beyond a TTL of none is longer, ten seconds, and is what counts then. */
const FLOOR = 4;

const ground = hearingGround({
  agent: ['--dns-floor', `${FLOOR}`],
  beforeAgent: own => {
    // The kernel forgets at once what has been closed.
    for (const state of ['fin_wait', 'close_wait', 'last_ack', 'time_wait', 'close'])
      own.exec(own.nodePath, 'sysctl', '-qw', `net.netfilter.nf_conntrack_tcp_timeout_${state}=1`);
  },
});

const connects = async (address: string) =>
  (await ground.visit({ names: [address], patienceMs: 400 })).connected.length === 1;

test(
  'C41: an address is renewed while the pod is connected to it, and ends when it is not',
  async () => {
    const { connected } = await ground.visit({ names: ['z1.t.example', 'z2.t.example'] });
    expect(connected).toHaveLength(2);
    const kept = ground.keep('10.98.0.1');
    await kept.goesOn();
    await ground.until(() => !ground.isLearnt('10.98.0.2'));
    expect(await connects('10.98.0.2')).toBe(false);
    expect(await connects('10.98.0.1')).toBe(true);
    await kept.goesOn();
    kept.end();
    await ground.until(() => !ground.isLearnt('10.98.0.1'));
    expect(await connects('10.98.0.1')).toBe(false);
  },
  300_000 * SLOW,
);

test(
  'C41: a connection to what has ended outlives the agent’s restart and other edits; its policy’s end cuts it',
  async () => {
    expect((await ground.visit({ names: ['z3.t.example'] })).connected).toHaveLength(1);
    const kept = ground.keep('10.98.0.3');
    await kept.goesOn();
    await ground.agent!.kill();
    // As if it had been away for ten minutes.
    for (const [set, element] of ground.elementsBySet())
      ground.exec(ground.nodePath, 'nft', 'delete', 'element', 'ip', 'sluice', set, `{ ${element} }`);
    expect(ground.elements()).toEqual([]);
    await ground.startAgent('--dns-floor', `${FLOOR}`);
    await ground.readingAnswers();
    await ground.scannedAtStart();
    await kept.goesOn();
    expect(await connects('10.98.0.3')).toBe(false);
    const allowed = policyText(['*.t.example']);
    ground.write('policy.yaml', allowed.replace('networks: [', "networks: ['192.0.2.9/32', "));
    await ground.agent!.inForce(2);
    await ground.scannedAfter(() => {
      ground.write('policy.yaml', allowed); // allows less: all connections of the pod are looked at
      return ground.agent!.inForce(3);
    });
    await kept.goesOn();
    ground.write('policy.yaml', policyText(['*.other.example']));
    await ground.agent!.inForce(4);
    await kept.hangs();
  },
  300_000 * SLOW,
);

test(
  'C58: a name that was taken from the policy while no agent was there is cut when one starts',
  async () => {
    ground.write('policy.yaml', policyText(['*.t.example']));
    await ground.agent!.inForce(5);
    await ground.readingAnswers();
    expect((await ground.visit({ names: ['n4.t.example'], rounds: 20 })).connected).toHaveLength(1);
    const kept = ground.keep('10.98.0.4');
    await kept.goesOn();
    await ground.agent!.kill();
    ground.write('policy.yaml', policyText(['*.other.example']));
    await ground.startAgent('--dns-floor', `${FLOOR}`);
    await ground.readingAnswers();
    await kept.hangs();
  },
  300_000 * SLOW,
);
