/** Rules that count, of a live agent: to the packet, whatever becomes of the rules, and without a change of any verdict. */
import { expect, test } from 'vitest';
import { inNamespace } from '../../bench/lab/netns.ts';
import { probe } from '../../bench/lab/probe/probe.ts';
import { compile } from '../../src/compiler/compile.ts';
import { withRuleCounters } from '../../src/compiler/rulecounters.ts';
import { RuleCounts } from '../../src/daemon/watching/rulecounts.ts';
import { RuleCountReader } from '../../src/kernel/netlink/nftables/rulecounts.ts';
import { ClusterState } from '../../src/model/cluster.ts';
import { plan } from '../../src/nft/plan/plan.ts';
import type { AgentProcess } from '../support/agent/agentprocess.ts';
import { AgentSite, siteObjects, sitePolicy } from '../support/packets/agentsite.ts';
import { ALLOWED_PORT, DENIED_PORT, firmEvents, HOSTS, NODE, openIn } from '../support/packets/site.ts';
import { Netns } from './netns.ts';

const site = new AgentSite('counts');

const PODS = [{ from: [{ podSelector: {} }], ports: [{ protocol: 'UDP', port: ALLOWED_PORT }] }];
const EVERYBODY = [{ ports: [{ protocol: 'UDP', port: ALLOWED_PORT }] }];

function write(rules: object[], ...more: object[]): void {
  site.write(...siteObjects(), sitePolicy('firm', { ingress: rules }), ...more);
}

const agent = (): Promise<AgentProcess> => site.agent('--count-rules');

async function counted(): Promise<Record<string, number>> {
  const counts = inNamespace(site.lab.nodeNamespace(NODE), () => new RuleCounts(new RuleCountReader()));
  try {
    const totals = await counts.read();
    return Object.fromEntries(
      Array.from(totals.values(), ({ direction, action, source, packets }) => [
        `${direction} ${action} ${source}`,
        packets,
      ]),
    );
  } finally {
    counts.close();
  }
}

const flows = (port: number) =>
  ([0, 1] as const).map(family => ({
    from: HOSTS.x[family],
    to: HOSTS.t[family],
    protocol: 'UDP' as const,
    port,
  }));

test.each([
  ['of pods', PODS],
  ['of everybody', EVERYBODY],
])('each new connection %s is counted once, and each denied packet', async (_, rules) => {
  write(rules);
  await agent();
  expect(await probe(site.lab, [...flows(ALLOWED_PORT), ...flows(DENIED_PORT)], { quietMs: 200 })).toEqual([
    'open',
    'open',
    'closed',
    'closed',
  ]);
  const counts = await counted();
  expect(counts['ingress accept probe/firm ingress[0]']).toBe(2);
  expect(counts['ingress drop isolated by probe/firm']).toBeGreaterThanOrEqual(2);
});

test('a rule that nothing met has counted nothing, and says so', async () => {
  const ingress = [{ from: [{ ipBlock: { cidr: '192.0.2.0/24' } }] }];
  write(PODS, sitePolicy('idle', { ingress }));
  await agent();
  await probe(site.lab, flows(ALLOWED_PORT), { quietMs: 200 });
  const counts = await counted();
  expect(counts['ingress accept probe/idle ingress[0]']).toBe(0);
});

test('a rule remembers when its last packet came, and one that nothing met has none', async () => {
  const ingress = [{ from: [{ ipBlock: { cidr: '192.0.2.0/24' } }] }];
  write(PODS, sitePolicy('idle', { ingress }));
  await agent();
  const sentMs = performance.now();
  await probe(site.lab, flows(ALLOWED_PORT), { quietMs: 200 });
  const reader = inNamespace(site.lab.nodeNamespace(NODE), () => new RuleCountReader());
  site.closeAfter(() => reader.close());
  const counts = (await reader.all()).filter(({ verdict }) => verdict.kind === 'accept');
  const passedMs = performance.now() - sentMs;
  const of = (comment: string) => counts.filter(count => count.comment === comment);
  expect(of('probe/idle ingress[0]').map(({ lastMsAgo }) => lastMsAgo)).toEqual([undefined]);
  const met = of('probe/firm ingress[0]').filter(({ packets }) => packets > 0);
  expect(met).toHaveLength(2); // of each family
  // The kernel's clock for it ticks a few times in a hundredth of a second.
  for (const { lastMsAgo } of met) expect(lastMsAgo).toBeLessThanOrEqual(passedMs + 50);
});

const ALLOWED = 'ingress accept probe/firm ingress[0]';

test('the kernel goes on counting while agents end and start', async () => {
  write(PODS);
  const running = await agent();
  const before = (await counted())[ALLOWED]!;
  await probe(site.lab, flows(ALLOWED_PORT), { quietMs: 200 });
  await running.kill();
  await agent();
  expect((await counted())[ALLOWED]).toBe(before + 2);
});

test('totals outlive the rules that were replaced', async () => {
  const counts = inNamespace(site.lab.nodeNamespace(NODE), () => new RuleCounts(new RuleCountReader()));
  site.closeAfter(() => counts.close());
  const kernel = await openIn(site.lab);
  site.closeAfter(() => kernel.close());
  const state = new ClusterState();
  for (const event of firmEvents()) state.apply(event);
  let { ruleset } = await kernel.dump();
  const become = async () => {
    const desired = withRuleCounters(compile(state, NODE), 'times and last');
    const ops = plan(ruleset, desired);
    await counts.before(ops);
    await kernel.commit(ops);
    ruleset = desired;
  };
  const allowed = () =>
    [...counts.totals.values()]
      .filter(({ direction, action }) => direction === 'ingress' && action === 'accept')
      .reduce((total, { packets }) => total + packets, 0);
  await become();
  await counts.read();
  const before = allowed();
  const firm = [...state.policies.values()][0]!;
  for (const name of ['first', 'second']) {
    await probe(site.lab, flows(ALLOWED_PORT), { quietMs: 200 });
    const ingress = firm.ingress!.map(rule => ({ ...rule, name }));
    state.apply({ type: 'policy', key: firm.id, value: { ...firm, ingress } });
    await become();
  }
  expect(allowed()).toBe(before + 4);
  expect(counts.totals.unreadChains).toBe(0);
});

test('who asks for some chains does not wait for who reads all rules', async () => {
  const chains = Array.from(
    { length: 2_000 },
    (_, i) => `chain from-${i} { ${'counter accept; '.repeat(10)} };`,
  );
  const netns = new Netns();
  site.closeAfter(() => netns.close());
  netns.exec('nft', ['-f', '-'], `table ip6 sluice { ${chains.join('\n')} }`);
  const reader = netns.run(() => new RuleCountReader());
  site.closeAfter(() => reader.close());
  const done: string[] = [];
  const all = reader.all().then(counts => done.push(`all ${counts.length}`));
  const some = reader
    .of([{ family: 'ip6', chain: 'from-7' }])
    .then(counts => done.push(`some ${counts.length}`));
  await Promise.all([all, some]);
  expect(done).toEqual(['some 10', 'all 20000']);
});
