/**
 * Take-over where earlier agents linked the pods of the node: what these needed beside policy stood in a table of its
 * own, `inet sluice-pods`. Its ports of the node lead to the same pods at every moment, and open connections stay open.
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Lab } from '../../bench/lab/lab.ts';
import { inNamespace } from '../../bench/lab/netns.ts';
import { address } from '../../bench/lab/topology.ts';
import { Agent } from '../../src/agent/agent.ts';
import { compile } from '../../src/compiler/compile.ts';
import { mappingsOf } from '../../src/compiler/hostports.ts';
import { Incremental } from '../../src/compiler/live/incremental.ts';
import { readOldHostPorts, removeOldPodTable } from '../../src/kernel/netlink/nftables/oldpodtable.ts';
import { type ClusterEvent, ClusterState } from '../../src/model/cluster.ts';
import { hostPortEvents } from '../../src/model/hostportevents.ts';
import { layoutEvents, putUp, recordedLayouts } from '../support/agent/layouts.ts';
import { answers, type LiveConnection, Telephones } from '../support/agent/live.ts';
import { withoutSizes } from '../support/oracle/withoutsizes.ts';
import { buildSite, HOSTS, NODE, openIn } from '../support/packets/site.ts';

const NODE_ADDRESSES = ['172.18.0.11', 'fd00:18::11'].map(address);

let lab: Lab;
const open: Telephones[] = [];

beforeAll(async () => {
  lab = await buildSite('attached');
});

afterEach(() => {
  for (const telephones of open.splice(0)) telephones.close();
});

afterAll(() => lab?.remove());

function telephones(): Telephones {
  open.push(new Telephones(lab));
  return open.at(-1)!;
}

const onNode = <T>(work: () => T): T => inNamespace(lab.nodeNamespace(NODE), work);

/** By a port of the node, in both families. */
const dials = (hostPort: number, podPort: number) =>
  ([0, 1] as const).map(family => ({
    from: HOSTS.x[family],
    to: HOSTS.t[family],
    port: podPort,
    via: { address: NODE_ADDRESSES[family]!, port: hostPort },
  }));

/** New connections to a port of the node are answered. */
async function expectReachable(): Promise<void> {
  const own = telephones();
  for (const dial of dials(8081, 8000)) expect(await answers(await own.tcp(dial))).toBe(true);
  own.close();
}

/** An agent of today, up to its first commit. */
async function takeOver(events: readonly ClusterEvent[]): Promise<void> {
  const stop = new AbortController();
  const line = () => stop.abort();
  const agent = new Agent({
    open: () => openIn(lab, { podLinks: 'ours' }),
    engine: () => new Incremental(NODE, 'allow', 'ours'),
    log: { debug: line, info: line, warn: line, error: line },
  });
  agent.note(events);
  await agent.run(stop.signal);
}

function desired(events: readonly ClusterEvent[]) {
  const state = new ClusterState();
  for (const event of events) state.apply(event);
  return compile(state, NODE, 'allow', 'ours');
}

const ATTACHED = recordedLayouts().filter(({ attached }) => attached);

test('a layout with attached pods was recorded', () => expect(ATTACHED).toHaveLength(1));

test.each(ATTACHED)(
  'ports of the node lead to their pods all the way from layout $layout of $commit',
  async layout => {
    const endPredecessor = onNode(() => putUp(layout));
    const lasting = telephones();
    const connections: LiveConnection[] = [];
    for (const dial of dials(8080, 80)) connections.push(await lasting.tcp(dial));
    const expectLasting = async () => {
      for (const connection of connections) expect(await answers(connection)).toBe(true);
    };
    await expectReachable();
    endPredecessor();
    await expectLasting();

    const ports = [...(await onNode(() => readOldHostPorts())).values()].flatMap(mappingsOf);
    expect(ports.map(({ hostPort, pod }) => `${pod} ${hostPort}`).sort()).toEqual(
      HOSTS.t.flatMap(pod => [`${pod} 8080`, `${pod} 8081`]).sort(),
    );
    const events = [...layoutEvents(), ...hostPortEvents([], ports)];
    await takeOver(events);
    await expectReachable(); // by both tables
    await expectLasting();

    expect(await onNode(() => removeOldPodTable())).toBe(true);
    expect(await onNode(() => removeOldPodTable())).toBe(false);
    expect([...(await onNode(() => readOldHostPorts())).values()].flatMap(mappingsOf)).toEqual([]);
    await expectReachable();
    await expectLasting();
    const kernel = await openIn(lab);
    expect(withoutSizes((await kernel.dump()).ruleset)).toEqual(desired(events));
    kernel.close();
  },
);
