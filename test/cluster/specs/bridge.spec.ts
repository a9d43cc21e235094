import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask } from './support/api.ts';
import { cni, until, within } from './support/cluster.ts';
import { agents, endpoint, type Site, settles, site } from './support/site.ts';

const SYSCTL = 'net.bridge.bridge-nf-call-iptables';
let place: Site;
beforeAll(async () => {
  place = await site('bridge');
});
afterAll(async () => {
  if (cni === 'bridge') await bridged('1');
});

const bridged = (value: '0' | '1') => within('node1', 'sysctl', '-qw', `${SYSCTL}=${value}`);

/** What the agent of node1 answers to its readiness probe. */
const readiness = () =>
  within(
    'node1',
    process.execPath,
    '-e',
    'fetch("http://127.0.0.1:9910/readyz").then(r => r.text()).then(console.log)',
  );

// Only a cluster of `scripts/cluster up --cni bridge` has a bridge.
test.skipIf(cni !== 'bridge')(
  'policy holds on a bridge, and a node whose bridge nobody filters is not ready',
  async () => {
    const db = await place.pod('db', { node: 'node1' });
    const client = await place.pod('client', { node: 'node1' });
    await place.policy('db', { podSelector: { matchLabels: { name: 'db' } }, policyTypes: ['Ingress'] });
    expect(await settles(client, endpoint(db.address), 'closed')).toBe('closed');

    await bridged('0');
    const isReady = async () => (await agents()).get('node1')!.ready;
    await until('the agent is not ready', async () => ((await isReady()) ? undefined : true));
    expect(await readiness()).toMatch(/^fail +bridge-traffic-seen: .*bridge-nf-call-iptables/m);
    const events = await ask('GET', '/api/v1/namespaces/sluice/events?fieldSelector=reason=Unhealthy');
    expect(JSON.stringify(events)).toContain('503');

    await bridged('1');
    await until('the agent is ready', async () => ((await isReady()) ? true : undefined));
    expect(await settles(client, endpoint(db.address), 'closed')).toBe('closed');
  },
);
