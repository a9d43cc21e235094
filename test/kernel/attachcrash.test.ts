/**
 * K4: many pods come and go while the agent that attaches them is killed at any moment, also before it has started:
 * what it answered is what stands, no address is given to two pods, policy holds for those that are there, whether an
 * agent lives or not, and in the end nothing is left.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inNamespace } from '../../bench/lab/netns.ts';
import { probe } from '../../bench/lab/probe/probe.ts';
import { parseAddress } from '../../src/model/address.ts';
import { NodeInterfaces } from '../../src/network/attach/nodeinterfaces.ts';
import { AgentProcess } from '../support/agent/agentprocess.ts';
import { type Place, PodChurn } from '../support/agent/podchurn.ts';
import { KniClient } from '../support/pods/kniclient.ts';
import { hostPortsOf } from '../support/pods/podrules.ts';
import { PodSite } from '../support/pods/podsite.ts';
import { runs } from '../support/seed.ts';

const CIDRS = ['10.80.0.0/24', 'fd80::/64'];
const PODS = runs(1000, 120);
const PLACES = 64;
/** Answers that an agent gives at most before it is killed. */
const MOST_ANSWERS = runs(360, 110);
/** Agents that answer and are killed, also where few are enough for all pods. */
const FEWEST_KILLS = runs(6, 4);
/** How long an agent lives at most that does not get as far as that. */
const HASTY_MS = 1000;
/** Of each kind, those that are tried with packets. */
const TRIED = 3;

let folder: string;
let site: PodSite;
let links: NodeInterfaces;
let places: Place[];
const agents: AgentProcess[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-crash-'));
  writeFileSync(join(folder, 'cluster.json'), JSON.stringify(manifests()));
  site = await PodSite.build();
  links = inNamespace(site.node, () => new NodeInterfaces());
  places = [];
  for (let index = 0; index < PLACES; index++)
    places.push({
      path: await site.add(`pod${index}`),
      ...(index % 5 === 0 && { hostPort: 1000 + index }),
    });
}, 300_000);

afterAll(async () => {
  for (const agent of agents) await agent.kill(); // one that lives still where the test has failed
  links.close();
  await site.close();
  rmSync(folder, { recursive: true });
}, 300_000);

/** Every other pod is shut by policy, the rest is not selected. */
const isShut = (pod: string) => Number(pod.slice(1)) % 2 === 0;

function manifests(): object {
  const pods = Array.from({ length: 2 * PODS }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `p${index}`, namespace: 'shop', labels: { shut: String(isShut(`p${index}`)) } },
    spec: { nodeName: 'n', containers: [] },
  }));
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, spec: { podCIDRs: CIDRS } };
  const policy = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'shut', namespace: 'shop' },
    spec: { podSelector: { matchLabels: { shut: 'true' } }, policyTypes: ['Ingress', 'Egress'] },
  };
  return { apiVersion: 'v1', kind: 'List', items: [node, policy, ...pods] };
}

const socket = () => join(folder, 'sluice.sock');
function startAgent(): AgentProcess {
  const manifests = join(folder, 'cluster.json');
  const rest = ['--manifests', manifests, '--socket', socket(), '--pod-network', 'attach'];
  const agent = new AgentProcess(site.node, 'n', rest);
  agents.push(agent);
  return agent;
}

/** An agent that answers, and what to ask it with. */
async function answeringAgent(): Promise<{ agent: AgentProcess; kni: KniClient }> {
  const agent = startAgent();
  await agent.inForce();
  const kni = new KniClient(socket());
  await kni.answered();
  return { agent, kni };
}

/** What stands is what was answered, once and nowhere else. */
async function compareKernel(churn: PodChurn): Promise<void> {
  const attachments = await links.attachments();
  const given = attachments.flatMap(({ addresses }) => addresses);
  expect(new Set(given).size, 'an address that two pods have').toBe(given.length);
  expect(site.routes().sort(), 'routes without an interface').toEqual([...given, ...CIDRS].sort());
  expect(attachments.length).toBe(site.devices().length);
  const standing = new Map(attachments.map(its => [its.owner?.sandbox, its.addresses.join()]));
  const sure = [...churn.answered].filter(([pod]) => !churn.unsure.has(pod));
  expect(Object.fromEntries(sure.map(([pod]) => [pod, standing.get(pod) ?? '']))).toEqual(
    Object.fromEntries(sure.map(([pod, addresses]) => [pod, addresses.join()])),
  );
}

/** The rules of an agent that has just started name every address that is given out, whose it is, and no other. */
async function compareRules(): Promise<void> {
  const attachments = await links.attachments();
  const given = attachments.flatMap(({ addresses, owner }) =>
    addresses.map(address => `${address} "${owner!.pod}"`),
  );
  expect(named().sort()).toEqual(given.sort());
}

function named(): string[] {
  return ['ip', 'ip6'].flatMap(family => {
    const map = site.exec(site.node, 'nft', ['list', 'map', family, 'sluice', 'ingress-pods']);
    return [...map.matchAll(/(\S+) comment ("[^"]*")/g)].map(([, address, pod]) => `${address} ${pod}`);
  });
}

/** Real packets between some that are attached; answers how many verdicts there were. */
async function tryPackets(churn: PodChurn): Promise<number> {
  const attached = churn.attached();
  for (const { place, addresses } of attached) site.settleAt(place.path, addresses);
  const [shut, open] = [true, false].map(kind =>
    attached.filter(({ pod }) => isShut(pod) === kind).slice(0, TRIED),
  );
  const some = [...shut!, ...open!];
  const tried = some.flatMap(from => some.filter(to => to !== from).map(to => ({ from, to })));
  const flows = tried.flatMap(({ from, to }) =>
    [0, 1].map(family => ({
      from: parseAddress(from.addresses[family]!)!,
      to: parseAddress(to.addresses[family]!)!,
      protocol: 'TCP' as const,
      port: 80,
    })),
  );
  const wanted = tried.flatMap(({ from, to }) =>
    Array(2).fill(isShut(from.pod) || isShut(to.pod) ? 'closed' : 'open'),
  );
  expect(await probe(site, flows)).toEqual(wanted);
  return flows.length;
}

test(`K4: ${PODS} pods, the agent killed at any moment: no address twice, books equal to the kernel, policy stands, nothing left`, async () => {
  const churn = new PodChurn(places);
  let [kills, verdicts] = [0, 0];
  while (churn.pods < PODS || kills < FEWEST_KILLS) {
    const hasty = startAgent();
    await sleep(Math.random() * HASTY_MS);
    await hasty.kill();
    const { agent, kni } = await answeringAgent();
    await compareRules();
    const enough = churn.answers + 1 + Math.floor(Math.random() * MOST_ANSWERS);
    const over = new AbortController();
    const running = churn.run(kni, over.signal);
    const isEnough = async () => {
      while (churn.answers < enough) await sleep(1);
      await sleep(Math.random() * 20);
    };
    await Promise.race([running, isEnough()]);
    over.abort();
    await agent.kill();
    await running;
    kni.close();
    kills++;
    await compareKernel(churn);
    verdicts += await tryPackets(churn);
  }
  expect(verdicts).toBeGreaterThan(20 * kills);
  const { agent, kni } = await answeringAgent();
  await churn.detachAll(kni);
  expect([site.devices(), site.routes(), await hostPortsOf(site)]).toEqual([[], CIDRS, []]);
  await expect.poll(named, { timeout: 20_000 }).toEqual([]);
  kni.close();
  await agent.kill();
}, 900_000);
