/**
 * Sluice is taken off the cluster, by each way that there is, and is gone: then it comes back. With Sluice as the pods'
 * network (`up --cni sluice`) its removal takes the network of every pod on these nodes, so nothing is asked of pods then.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, test } from 'vitest';
import { bin, cni, kubectl, nodes, type Output, state, until, within } from './support/cluster.ts';
import {
  deleteManifests,
  helm,
  installByHelm,
  installByKustomize,
  leftAtServer,
  leftOn,
  MANIFESTS,
  uninstallByHelm,
  uninstallFromAllNodes,
  untilAgentsHaveEnded,
} from './support/installs.ts';
import { type Shop, shop } from './support/shop.ts';
import { agents, connection, endpoint, settles } from './support/site.ts';

const attaches = cni === 'sluice';
const HOST_PORT = 8123;

// Whatever became of a test: the specs behind it need the agents, and DNS a network.
afterAll(async () => {
  const { code } = await helm('status', 'sluice');
  if (code === 0) await uninstallByHelm();
  await installByKustomize();
  if (attaches) await kubectl('-n', 'kube-system', 'delete', 'pods', '--all', '--force', '--grace-period=0');
});

/** Under policy that is enforced; where Sluice attaches pods, with a port of the node. */
async function populated(name: string): Promise<Shop> {
  const place = await shop(name);
  if (!attaches) return place;
  const ports = [{ containerPort: 8080, hostPort: HOST_PORT }];
  await place.pod('entrance', { node: 'node1', container: { ports } });
  expect(await settles('outside', endpoint('172.18.0.11', HOST_PORT), 'open')).toBe('open');
  return place;
}

async function expectGone(place: Shop): Promise<void> {
  for (const node of nodes) expect(await leftOn(node), node).toEqual([]);
  if (attaches) {
    expect(await connection('outside', endpoint('172.18.0.11', HOST_PORT))).toBe('refused');
    return;
  }
  const { db, stranger } = place;
  expect(await settles(stranger, endpoint(db.address), 'open')).toBe('open');
  await expectNewPodsAreLetIn(place);
}

let pods = 0;
async function expectNewPodsAreLetIn(place: Shop): Promise<void> {
  for (const node of nodes) {
    const fresh = await place.pod(`fresh-${++pods}`, { node });
    for (const address of fresh.addresses)
      expect(await settles(place.stranger, endpoint(address), 'open')).toBe('open');
  }
}

function expectClean({ code, stdout, stderr }: Output): void {
  expect(`${stdout}${stderr}`).toMatch(new RegExp(`^${nodes.length} nodes clean: ${nodes.join(', ')}\n`));
  expect(code).toBe(0);
}

describe('nothing of it is left on any node, and no new pod is cut off', () => {
  test('after sluice uninstall --all-nodes', async () => {
    const place = await populated('removal-command');
    expectClean(await uninstallFromAllNodes());
    await expectGone(place);

    const again = await uninstallFromAllNodes();
    expect(again.stderr).toMatch(/there is no DaemonSet sluice to remove/);
    expect(again.code).toBe(2);

    await deleteManifests();
    expect(await leftAtServer()).toEqual([]);
    await place.leave();
  });

  test('after helm uninstall, and no object of the release either', async () => {
    await installByHelm();
    const place = await populated('removal-helm');
    const { code, stderr } = await uninstallByHelm();
    expect(stderr).toBe('');
    expect(code).toBe(0);
    await expectGone(place);
    await until('every object is gone', async () => ((await leftAtServer()).length === 0 ? true : undefined));
    await place.leave();
  });
});

test('a node that was away is named, and cleaned when it returns', async () => {
  await installByKustomize();
  await within('node2', 'pkill', '-STOP', '-x', 'kubelet');
  try {
    const { code, stdout } = await uninstallFromAllNodes('--timeout=8');
    expect(stdout).toMatch(
      /^1 node clean: node1\nnot clean yet: node2 \(Pending\)\nDaemonSet sluice-cleaner stays /,
    );
    expect(code).toBe(1);
    expect(await leftOn('node2')).not.toEqual([]);
  } finally {
    await within('node2', 'pkill', '-CONT', '-x', 'kubelet');
  }
  await until('node2 is clean', async () => ((await leftOn('node2')).length === 0 ? true : undefined));
  expectClean(await uninstallFromAllNodes());
});

/** Reads the log of an agent from now on, to its end. */
async function lastWords(pod: string): Promise<{ readonly log: Promise<string> }> {
  const words = [`--kubeconfig=${join(state, 'pki/admin.conf')}`, '-n', 'sluice', 'logs', '-f', pod];
  const { stdout } = spawn(join(bin, 'kubectl'), words, { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(stdout, 'readable');
  return { log: text(stdout) };
}

describe('where nobody asked Sluice to go, known policy stays in force, new pods are let in, and each agent says how to clean up', () => {
  test.each([
    ['the DaemonSet', ['-n', 'sluice', 'delete', 'daemonset/sluice']],
    ['the namespace', ['delete', 'namespace/sluice']],
    ['everything that the manifests made', ['delete', '-k', MANIFESTS]],
  ])('%s is deleted', async (what, words) => {
    await installByKustomize();
    const place = await populated(`removal-${/\w+$/.exec(what.toLowerCase())}`);
    const names = [...(await agents()).values()].map(({ name }) => name);
    const ends = await Promise.all(names.map(lastWords));
    await kubectl(...words, '--wait=true');
    await untilAgentsHaveEnded();
    for (const { log } of ends)
      expect(await log).toMatch(
        /Sluice is being removed: unknown pods are allowed .*\\"sluice uninstall\\" on the node/,
      );
    expect(await settles(place.stranger, endpoint(place.db.address), 'closed')).toBe('closed');
    if (!attaches) await expectNewPodsAreLetIn(place);

    // What docs/install.md says of it: install again, and remove it properly.
    await installByKustomize();
    expect(await settles(place.stranger, endpoint(place.db.address), 'closed')).toBe('closed');
    expectClean(await uninstallFromAllNodes());
    await expectGone(place);
    await place.leave();
  });
});
