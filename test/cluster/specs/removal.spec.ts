import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask } from './support/api.ts';
import { cni, command, kubectl, nodes, state, until, within } from './support/cluster.ts';
import { type Shop, shop } from './support/shop.ts';
import { agents, endpoint, settles } from './support/site.ts';

const MAIN = join(import.meta.dirname, '../../../src/cli/main.ts');
const DAEMONSETS = '/apis/apps/v1/namespaces/sluice/daemonsets';

let place: Shop;
let daemonSet: { readonly metadata: object; readonly spec: object };
beforeAll(async () => {
  place = await shop('removal');
  daemonSet = await ask('GET', `${DAEMONSETS}/sluice`);
});
// Whatever became of the test: the specs behind it need the agents.
afterAll(async () => {
  if ((await agents()).size === 0) await install();
});

const removeAll = () =>
  command(process.execPath, MAIN, 'uninstall', '--all-nodes', '--kubeconfig', join(state, 'pki/admin.conf'));

async function install(): Promise<void> {
  const metadata = { name: 'sluice', namespace: 'sluice', labels: { 'app.kubernetes.io/name': 'sluice' } };
  await ask('POST', DAEMONSETS, { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata, spec: daemonSet.spec });
  await until('agents are there', async () => ((await agents()).size === nodes.length ? true : undefined));
  await kubectl('-n', 'sluice', 'rollout', 'status', 'daemonset/sluice', '--timeout=60s');
}

// With Sluice as the pods' network its removal takes the network of every pod on these nodes, the cluster's DNS too.
test.skipIf(cni === 'sluice')(
  'uninstall --all-nodes leaves no rule on any node, cuts no new pod off, and Sluice comes back as it was',
  async () => {
    const { db, stranger } = place;
    const { code, stdout, stderr } = await removeAll();
    expect(`${stdout}${stderr}`).toMatch(new RegExp(`^${nodes.length} nodes clean: ${nodes.join(', ')}\n`));
    expect(code).toBe(0);
    expect((await ask('GET', '/api/v1/namespaces/sluice/pods')).items).toEqual([]);
    for (const node of nodes) expect(await within(node, 'nft', 'list', 'ruleset')).not.toContain('sluice');
    expect(await settles(stranger, endpoint(db.address), 'open')).toBe('open');
    const fresh = await place.pod('fresh', { node: db.node });
    for (const address of fresh.addresses)
      expect(await settles(stranger, endpoint(address), 'open')).toBe('open');

    const again = await removeAll();
    expect(again.stderr).toMatch(/there is no DaemonSet sluice to remove/);
    expect(again.code).toBe(1);

    await install();
    expect(await settles(stranger, endpoint(db.address), 'closed')).toBe('closed');
  },
);

test.skipIf(cni === 'sluice')(
  'where somebody just deletes the DaemonSet, known policy stays in force and new pods are let in',
  async () => {
    const { db, stranger } = place;
    await kubectl('-n', 'sluice', 'delete', 'daemonset/sluice', '--wait=true');
    await until('the agents have ended', async () => ((await agents()).size === 0 ? true : undefined));
    expect(await settles(stranger, endpoint(db.address), 'closed')).toBe('closed');
    const late = await place.pod('late', { node: db.node });
    for (const address of late.addresses)
      expect(await settles(stranger, endpoint(address), 'open')).toBe('open');
    await install();
    expect(await settles(stranger, endpoint(db.address), 'closed')).toBe('closed');
  },
);
