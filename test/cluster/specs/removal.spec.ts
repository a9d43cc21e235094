/**
 * Sluice is put on the cluster and taken off it, by each way that there is, while its pods talk: what policy allows
 * loses no packet, what it denies turns once, and afterwards nothing is left. With Sluice as the pods' network (`up
 * --cni sluice`) its removal takes the network of every pod on these nodes, so nothing is asked of pods then.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, test } from 'vitest';
import { bin, cni, kubectl, nodes, state, until, within } from './support/cluster.ts';
import {
  deleteManifests,
  expectClean,
  expectUninstalledByHelm,
  helm,
  installByHelm,
  installByKustomize,
  installByOneFile,
  leftAtServer,
  leftOn,
  MANIFESTS,
  removalSaying,
  uninstallByHelm,
  uninstallFromAllNodes,
  untilAgentsHaveEnded,
} from './support/installs.ts';
import type { Wanted } from './support/prober.ts';
import { openShop, type Shop, shop } from './support/shop.ts';
import { agents, connection, endpoint, settles } from './support/site.ts';
import { uninterrupted } from './support/telephone.ts';

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

/** Pods whose network comes and goes with Sluice are not asked. */
async function underTraffic(place: Shop, denied: Wanted, action: () => Promise<unknown>): Promise<void> {
  if (attaches) return void (await action());
  await place.undisturbed(() => uninterrupted(place.web, place.db, action), denied);
}

async function installedUnderTraffic(name: string, install: () => Promise<void>): Promise<Shop> {
  if (attaches) {
    await install();
    return populated(name);
  }
  const place = await openShop(name);
  await underTraffic(place, 'closes', install);
  return place;
}

async function removedByCommand(): Promise<void> {
  expectClean(await uninstallFromAllNodes());
}

async function removedByHelm(): Promise<void> {
  expectUninstalledByHelm(await uninstallByHelm());
}

describe('nothing of it is left on any node, and no new pod is cut off', () => {
  test('after sluice uninstall --all-nodes, which says where there is nothing to remove', async () => {
    const place = await populated('removal-command');
    await underTraffic(place, 'opens', removedByCommand);
    await expectGone(place);

    const again = await uninstallFromAllNodes();
    expect(again.stderr).toMatch(/there is no DaemonSet sluice to remove/);
    expect(again.code).toBe(2);

    await deleteManifests();
    expect(await leftAtServer()).toEqual([]);
    await place.leave();
  });

  const byHelm: [string, string[]][] = [['root', []]];
  if (!attaches) byHelm.push(['nobody', ['nonRoot=true', 'startGate.mode=off']]);
  test.each(byHelm)(
    'after helm install, agents as %s, and helm uninstall, and no object of the release either',
    async (who, values) => {
      const place = await installedUnderTraffic(`removal-helm-${who}`, () => installByHelm(...values));
      await underTraffic(place, 'opens', removedByHelm);
      await expectGone(place);
      await until('every object is gone', async () =>
        (await leftAtServer()).length === 0 ? true : undefined,
      );
      await place.leave();
    },
  );

  const byKubectl: [string, () => Promise<void>][] = [['kubectl apply -k', installByKustomize]];
  if (!attaches) byKubectl.push(['kubectl apply -f install.yaml', installByOneFile]);
  test.each(byKubectl)('after %s and sluice uninstall --all-nodes', async (what, install) => {
    const place = await installedUnderTraffic(`removal-${/\w+$/.exec(what)}`, install);
    await underTraffic(place, 'opens', removedByCommand);
    await expectGone(place);
    await place.leave();
  });
});

test('a node that was away is named, and cleaned when it returns', async () => {
  await installByKustomize();
  await within('node2', 'pkill', '-STOP', '-x', 'kubelet');
  try {
    const named = /^1 node clean: node1\nnot clean yet: node2 \(Pending\)\nDaemonSet sluice-cleaner stays /;
    const { code, stdout } = await removalSaying(named);
    expect(stdout).toMatch(named);
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
    await underTraffic(place, 'closed', async () => {
      await kubectl(...words, '--wait=true');
      await untilAgentsHaveEnded();
    });
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
