/**
 * K4: attaching and detaching 1,000 pods while the process that does it is killed again and again: what it answered is
 * what stands, no address is given to two pods, and in the end nothing is left.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inNamespace } from '../../src/lab/netns.ts';
import type { NamespaceHelper } from '../../src/network/helper.ts';
import { HostPorts } from '../../src/network/hostports.ts';
import { NodeLinks } from '../../src/network/nodelinks.ts';
import { PodNetwork } from '../../src/network/podnetwork.ts';
import { PodTableSocket } from '../../src/network/podtablesocket.ts';
import { PodSite } from '../support/podsite.ts';

const PROGRAM = fileURLToPath(new URL('../support/attacher-process.ts', import.meta.url));
const CIDRS = '10.80.0.0/24,fd80::/64';
const PODS = 1000;
/** Pods come and go in these. */
const NAMESPACES = 64;
/** Answers that a process gives at most before it is killed. */
const MOST_ANSWERS = 240;

let site: PodSite;
let links: NodeLinks;
let table: PodTableSocket;
const names = Array.from({ length: NAMESPACES }, (_, index) => `pod${index}`);

beforeAll(async () => {
  site = await PodSite.build();
  links = inNamespace(site.node, () => new NodeLinks());
  table = inNamespace(site.node, () => new PodTableSocket());
  for (const name of names) await site.add(name);
}, 120_000);

afterAll(async () => {
  links.close();
  table.close();
  await site.close();
}, 120_000);

/** What was last answered about each sandbox: its addresses, empty where it is gone. */
const answered = new Map<string, string>();
/** Asked about again, and not answered yet: they may be in either state. */
const unsure = new Set<string>();
/** Who is in which namespace, or may be. */
const occupants = new Map<string, string>();
const attached = new Set<string>();

/** Killed behind so many answers, in the middle of others. Answers how many there were. */
async function churn(enough: number, serial: number): Promise<number> {
  const places = names.map(name => {
    const occupant = occupants.get(site.path(name));
    return site.path(name) + (occupant === undefined ? '' : `=${occupant}`);
  });
  const child: ChildProcess = inNamespace(site.node, () =>
    spawn(process.execPath, [PROGRAM, CIDRS, String(serial), ...places], {
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  let answers = 0;
  const ended = once(child, 'close');
  const lines = createInterface({ input: child.stdout! });
  lines.on('line', line => {
    const [verb, namespace = '', sandbox = '', addresses = ''] = line.split(' ');
    if (verb === 'begin') {
      unsure.add(sandbox);
      occupants.set(namespace, sandbox);
      return;
    }
    answers++;
    unsure.delete(sandbox);
    answered.set(sandbox, addresses);
    if (verb === 'attach') attached.add(sandbox);
    else occupants.delete(namespace);
  });
  while (answers < enough && child.exitCode === null) await sleep(1);
  await sleep(Math.random() * 20);
  child.kill('SIGKILL');
  await ended;
  return answers;
}

/** What stands is what was answered, once and nowhere else. */
async function compare(): Promise<void> {
  const attachments = await links.attachments();
  const given = attachments.flatMap(({ addresses }) => addresses);
  expect(new Set(given).size, 'an address that two pods have').toBe(given.length);
  expect(site.routes().sort(), 'routes without an interface').toEqual(
    [...given, '10.80.0.0/24', 'fd80::/64'].sort(),
  );
  expect(attachments.length).toBe(site.devices().length);
  const standing = new Map(attachments.map(its => [its.owner?.sandbox, its.addresses.join()]));
  const sure = [...answered].filter(([name]) => !unsure.has(name));
  expect(Object.fromEntries(sure.map(([name]) => [name, standing.get(name) ?? '']))).toEqual(
    Object.fromEntries(sure),
  );
}

test('K4: 1,000 pods, killed at any moment: no address twice, books equal to the kernel, nothing left', async () => {
  let kills = 0;
  for (; attached.size < PODS; kills++) {
    const answers = await churn(1 + Math.floor(Math.random() * MOST_ANSWERS), 1000 * kills);
    expect(answers).toBeGreaterThan(0);
    await compare();
  }
  expect(kills).toBeGreaterThan(5);
  await detachAll();
  expect([site.devices(), site.routes(), await table.ports()]).toEqual([
    [],
    ['10.80.0.0/24', 'fd80::/64'],
    [],
  ]);
}, 900_000);

/** As the runtime would, by a process that knows nothing of those before it. */
async function detachAll(): Promise<void> {
  const network = inNamespace(site.node, () => podNetwork(links, site.helper, table));
  for (const sandbox of occupants.values()) await network.detach({ sandbox, interface: 'eth0' });
  await network.collect();
}

function podNetwork(links: NodeLinks, helper: NamespaceHelper, table: PodTableSocket): PodNetwork {
  return new PodNetwork({
    node: 'n',
    links,
    helper,
    ports: new HostPorts(table, () => links.given()),
    admission: { admit: async () => {}, adopt: () => {}, withdraw: () => {} },
    cluster: () => ({ nodes: new Map(), pods: new Map(), namespaces: new Map(), policies: new Map() }),
    livingPods: () => undefined,
    log: { info: () => {}, warn: () => {} },
  });
}
