/** `sluice drops` of a live agent: named lines, a flood, and verdicts that stay whatever happens to whoever names them. */
import { setImmediate } from 'node:timers/promises';
import { beforeAll, expect, test, vi } from 'vitest';
import { compileFlood, sendFlood } from '../../bench/flood.ts';
import { inNamespace } from '../../bench/lab/netns.ts';
import { probe } from '../../bench/lab/probe/probe.ts';
import { address } from '../../bench/lab/topology.ts';
import type { DenialsFacts } from '../../src/api/health/agentchecks.ts';
import type { AgentClient } from '../../src/api/rpc/client.ts';
import { DENIED_GROUP } from '../../src/compiler/denied.ts';
import { LogSocket } from '../../src/kernel/netlink/nflog/logsocket.ts';
import { packet } from '../../src/nft/trace/packet.ts';
import type { Denial } from '../../src/observe/denials/denial.ts';
import { AgentSite, siteObjects, sitePolicy } from '../support/packets/agentsite.ts';
import { arrivals, Prober } from '../support/packets/prober.ts';
import { ALLOWED_PORT, FIRM_FLOWS, HOSTS, NODE } from '../support/packets/site.ts';
import { runs } from '../support/seed.ts';
import { until } from '../support/until.ts';
import { RawSocket } from './raw-socket.ts';

const site = new AgentSite('drops');

beforeAll(() => {
  const ports = [{ protocol: 'UDP', port: ALLOWED_PORT }];
  site.write(...siteObjects(), sitePolicy('firm', { ingress: [{ from: [{ podSelector: {} }], ports }] }));
});

async function recorded(client: AgentClient): Promise<{ facts: DenialsFacts; denials: Denial[] }> {
  let facts: DenialsFacts | undefined;
  const denials: Denial[] = [];
  for await (const message of client.drops(false)) {
    facts ??= message.facts;
    if (message.denial !== undefined) denials.push(message.denial);
  }
  return { facts: facts!, denials };
}

/** Until so many of them are there. */
function denialsOf(client: AgentClient, count: number, of: (denial: Denial) => boolean): Promise<Denial[]> {
  return until(`${count} denials`, async () => {
    const some = (await recorded(client)).denials.filter(of);
    return some.length >= count && some;
  });
}

test('each denied attempt is one line that has the names, the policy and the reason', async () => {
  const running = await site.agent('--log-denials', 'all');
  const client = await site.client();
  const flows = ([0, 1] as const).flatMap(family =>
    (['TCP', 'UDP', 'SCTP', 'ICMP'] as const).map(protocol => ({
      from: HOSTS.x[family],
      to: HOSTS.t[family],
      protocol,
      ...(protocol !== 'ICMP' && { port: 1111 }),
    })),
  );
  await probe(site.lab, flows, { quietMs: 100 });
  const some = await denialsOf(client, flows.length, ({ cause }) => cause.kind === 'policy');
  expect(some.map(({ from, to, protocol }) => `${from.address} ${to.address} ${protocol}`).sort()).toEqual(
    flows.map(({ from, to, protocol }) => `${from} ${to} ${protocol}`).sort(),
  );
  for (const { from, to, cause } of some) {
    expect([from.pod, to.pod]).toEqual(['probe/x', 'probe/t']);
    expect(cause).toMatchObject({
      direction: 'ingress',
      tier: 'networkpolicy',
      policy: 'NetworkPolicy probe/firm',
    });
    expect(cause.reason).toContain('NetworkPolicy probe/firm selects probe/t');
  }
  expect(running.output.match(/"msg":"denied: probe\/x -> probe\/t/g)).toHaveLength(flows.length);
});

test('a flood of one pod hides nothing that another is denied, and is counted', async () => {
  await site.agent('--log-denials', 'none');
  const client = await site.client();
  const program = compileFlood(site.folder);
  const options = { from: HOSTS.x[0], to: HOSTS.t[0], perSecond: 120_000, seconds: runs(8, 5) };
  let isOver = false;
  const flooding = inNamespace(site.lab.namespaceOf(HOSTS.x[0]), () => sendFlood(program, options)).finally(
    () => {
      isOver = true;
    },
  );
  let tried = 0;
  while (!isOver && tried < 5) {
    const port = 3_000 + tried++;
    // A SYN for which there was no room before any rule is sent again a second later.
    await probe(site.lab, [{ from: HOSTS.y[0], to: HOSTS.t[0], protocol: 'TCP', port }], { quietMs: 2_500 });
    const isOwn = ({ from, port: own }: Denial) => from.pod === 'probe/y' && own === port;
    expect(await denialsOf(client, 1, isOwn)).toHaveLength(1);
  }
  const { sent, ms } = await flooding;
  expect(tried).toBeGreaterThan(0);
  // Counts are read twice a second at most.
  await vi.waitFor(async () => {
    expect((await recorded(client)).facts.denied).toBeGreaterThanOrEqual(sent);
  }, 30_000);
  console.log(`${Math.round((sent / ms) * 1000).toLocaleString('en')} packets a second were denied`);
  const { facts, denials } = await recorded(client);
  // Within the limit of a source: 20 at once, and two each second.
  const seconds = (Date.now() - facts.sinceMs) / 1000;
  expect(denials.filter(({ from }) => from.pod === 'probe/x').length).toBeLessThan(40 + 4 * seconds);
  expect(facts).toMatchObject({ lost: 0 });
}, 120_000);

test('a pod that forges a new address for each packet hides nothing that another is denied', async () => {
  await site.agent('--log-denials', 'none');
  const client = await site.client();
  const forger = inNamespace(site.lab.namespaceOf(HOSTS.x[0]), () => new RawSocket('ip'));
  site.closeAfter(() => forger.close());
  let sent = 0;
  let isEnough = false;
  const flood = (async () => {
    for (; !isEnough; sent++) {
      const from = address(`198.18.${(sent >> 8) & 255}.${sent & 255}`);
      forger.send(packet({ from, to: HOSTS.t[0], protocol: 'UDP', port: 1111, sourcePort: 9 }), HOSTS.t[0]);
      if (sent % 10 === 0) await setImmediate(); // without a pause in which a limit would recover
    }
  })();
  await until('the flood', async () => (await recorded(client)).facts.denied > 1_000);
  const own = { from: HOSTS.y[0], to: HOSTS.t[0], protocol: 'TCP', port: 3_999 } as const;
  await probe(site.lab, [own], { quietMs: 2_500 });
  const some = await denialsOf(client, 1, ({ from }) => from.pod === 'probe/y');
  isEnough = true;
  await flood;
  expect(some).toHaveLength(1);
  // Counts are read twice a second at most.
  await expect
    .poll(async () => (await recorded(client)).facts.denied, { timeout: 10_000 })
    .toBeGreaterThanOrEqual(sent);
  const { facts, denials } = await recorded(client);
  const forged = denials.filter(({ from }) => from.address.startsWith('198.18.'));
  const seconds = (Date.now() - facts.sinceMs) / 1000;
  expect(forged.length).toBeGreaterThan(0);
  expect(forged.length).toBeLessThan(40 + 4 * seconds);
  expect(new Set(forged.map(({ cause }) => cause.kind))).toEqual(new Set(['link']));
}, 120_000);

/** How agents follow one another: the first three are most of it. */
const WAYS = [
  ['SIGKILL', '--denials', '0', '--count-rules'],
  ['SIGTERM', '--denials', '1000', '--log-denials', 'all'],
  ['SIGKILL', '--denials', '7', '--log-denials', 'none'],
  ['SIGKILL', '--denials', '0'],
  ['SIGTERM', '--denials', '7', '--count-rules'],
  ['SIGTERM', '--log-denials', 'none'],
] as const;

test('no verdict changes while agents are killed or ended, start, and name, log and count in other ways or not at all', async () => {
  await (await site.agent()).kill();
  const prober = await Prober.start(site.lab, FIRM_FLOWS);
  site.closeAfter(() => prober.kill());
  for (const [signal, ...options] of WAYS.slice(0, runs(WAYS.length, 3)))
    await (await site.agent(...options)).kill(signal);
  await prober.more(500);
  const trails = await prober.stop();
  for (const [index, { port }] of FIRM_FLOWS.entries()) {
    expect(arrivals(trails[index]!)).toBe(port === ALLOWED_PORT ? trails[index]!.sent : 0);
  }
}, 120_000);

test('where another process reads the group, a check says so, and nothing else changes', async () => {
  const other = inNamespace(site.lab.nodeNamespace(NODE), () =>
    LogSocket.open({ group: DENIED_GROUP, copyBytes: 64, atOnce: 1, withinMs: 10 }),
  );
  site.closeAfter(() => other.close());
  const running = await site.agent();
  const client = await site.client();
  const { checks } = await client.status();
  expect(checks.find(({ name }) => name === 'denials')).toMatchObject({ state: 'warn' });
  expect(running.output).toContain('another process is handed the packets');
  const flow = { from: HOSTS.x[0], to: HOSTS.t[0], protocol: 'TCP', port: 1111 } as const;
  let seen = 0;
  // What the tests before have sent may have left nothing of the source's limit.
  await vi.waitFor(async () => {
    expect(await probe(site.lab, [flow], { quietMs: 100 })).toEqual(['closed']);
    other.read(100, () => seen++);
    expect(seen).toBeGreaterThan(0);
  }, 30_000);
});
