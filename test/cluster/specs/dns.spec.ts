import { beforeAll, expect, test } from 'vitest';
import { patch } from './support/api.ts';
import { proxy } from './support/cluster.ts';
import { connection, type RunningPod, type Site, settles, site } from './support/site.ts';

let place: Site;
let client: RunningPod;
const name = (service: string) => `${service}.own-dns.svc.cluster.local:80`;
const TO_DNS = {
  to: [{ namespaceSelector: {}, podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } } }],
  ports: [{ port: 53, protocol: 'UDP' }],
};
const TO_WEB = { to: [{ podSelector: { matchLabels: { name: 'web' } } }], ports: [{ port: 8080 }] };

beforeAll(async () => {
  place = await site('dns');
  for (const app of ['web', 'db']) {
    await place.pod(app, { node: 'node2' });
    const ports = [{ port: 80, targetPort: 8080 }];
    await place.service(app, { selector: { name: app }, ipFamilyPolicy: 'PreferDualStack', ports });
  }
  // A name that nobody may look up is given up after a second.
  const options = ['timeout', 'attempts', 'ndots'].map(option => ({ name: option, value: '1' }));
  client = await place.pod('client', { node: 'node1', spec: { dnsConfig: { options } } });
});

// Without kube-proxy no Service leads anywhere here, that of DNS included.
test.skipIf(proxy === 'none')(
  'a name leads to a Service where policy allows both, and nowhere else',
  async () => {
    expect(await settles(client, name('web'), 'open')).toBe('open');
    expect(await settles(client, name('db'), 'open')).toBe('open');

    const only = { podSelector: { matchLabels: { name: 'client' } }, policyTypes: ['Egress'] };
    const policy = await place.policy('egress', { ...only, egress: [TO_WEB] });
    expect(await settles(client, name('web'), 'closed')).toBe('closed'); // the name is not found

    await patch(policy, { spec: { egress: [TO_DNS] } });
    expect(await settles(client, name('web'), 'closed')).toBe('closed'); // found, but not allowed

    await patch(policy, { spec: { egress: [TO_DNS, TO_WEB] } });
    expect(await settles(client, name('web'), 'open')).toBe('open');
    expect(await connection(client, name('db'))).toBe('closed');
  },
);
