/** A name of the DNS as a destination, and addresses that a name allows: what is said of them, and what it rests on. */
import { describe, expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { spanText } from '../../lib/text/spantext.ts';
import type { Address } from '../../model/address.ts';
import { DnsCache, type DnsRecord } from '../../names/dnscache.ts';
import { answer, groupsOf } from './answer.ts';
import { fixOf, nearMissesOf } from './explanation.ts';

const shop = clusterView(`
{ apiVersion: v1, kind: Pod, metadata: { name: web, namespace: shop, labels: { app: web } }, spec: { nodeName: n1 },
  status: { podIPs: [{ ip: 10.1.0.1 }, { ip: 'fd00::1' }] } }
---
{ apiVersion: v1, kind: Pod, metadata: { name: db, namespace: shop, labels: { app: web } }, spec: { nodeName: n1 },
  status: { podIPs: [{ ip: 10.1.0.2 }] } }
---
apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: { name: first }
spec:
  tier: Admin
  priority: 1
  subject: { namespaces: {} }
  egress:
  - { action: Deny, to: [{ networks: [203.0.113.0/24] }] }
---
apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: { name: logs }
spec:
  tier: Admin
  priority: 10
  subject: { namespaces: {} }
  egress:
  - action: Accept
    to: [{ domainNames: [logs.example.org, '*.Cloud.example.'] }]
    protocols: [{ tcp: { destinationPort: { number: 443 } } }]
  - { action: Deny, to: [{ networks: [0.0.0.0/0, '::/0'] }] }
`);

const NOW = 1_000_000;
const record = (more: Partial<DnsRecord>): DnsRecord => ({
  pod: 'shop/web',
  name: 'a.cloud.example',
  address: '192.0.2.1' as Address,
  toldMs: NOW - 12_000,
  untilMs: NOW + 108_000,
  from: '10.1.0.53' as Address,
  ...more,
});

function knowing(...resolved: DnsRecord[]) {
  const cache = new DnsCache();
  cache.record(resolved);
  const known = { cache, nowMs: NOW };
  return { ...shop, known, cluster: { ...shop.cluster, resolved: cache.asOf(NOW) } };
}

const ask = (to: string, known: Parameters<typeof answer>[0] = shop) => {
  const { verdict, differsBy, notes, decisive } = answer(known, { from: 'shop/web', to });
  return { verdict, differsBy, notes, rule: decisive?.verdict.egress.rule };
};

describe('a name, of manifests alone', () => {
  test('is allowed once an answer has brought its address, and the note says so', () => {
    const { verdict, differsBy, notes } = ask('logs.example.org:443');
    expect(verdict).toBe('deny'); // An earlier policy denies all of 203.0.113.0/24.
    expect(differsBy).toEqual(['family', 'address']);
    expect(ask('logs.example.org@6:443')).toMatchObject({ verdict: 'allow', rule: 'egress[0]' });
    expect(notes).toEqual([
      "allowed once an answer of DNS to shop/web has brought the address of logs.example.org, for its TTL and 10 s (2 min at least, unless the agent's --dns-floor says otherwise); denied until then",
    ]);
  });

  test.each([
    ['a.cloud.example@6:443', 'allow'],
    ['A.b.CLOUD.example.@6:443', 'allow'],
    ['cloud.example@6:443', 'deny'],
    ['logs.example.org@6:80', 'deny'],
    ['other.example@6:443', 'deny'],
  ])('%s: %s', (to, verdict) => {
    expect(ask(to)).toMatchObject({ verdict, notes: verdict === 'allow' ? [expect.any(String)] : [] });
  });

  test.each([
    ['*.cloud.example:443', '"*.cloud.example": ask for one name, as www.cloud.example'],
    [
      'bücher.example:443',
      '"bücher.example": in DNS, and so in policies, this name is written xn--bcher-kva.example',
    ],
    ['a..example:443', '"a..example" is no name of the DNS'],
    [`${'a'.repeat(64)}.example:443`, 'is no name of the DNS'],
    [`${'a.'.repeat(126)}ab:443`, 'is no name of the DNS'],
    ['-a.example:443', 'is no name of the DNS'],
  ])('%s is refused with a reason', (to, message) => {
    expect(() => ask(to)).toThrow(message);
  });

  test('the longest that there is, and the longest label', () => {
    expect(ask(`${'a.'.repeat(126)}a@6:443`).verdict).toBe('deny');
    expect(ask(`${'a'.repeat(63)}.cloud.example@6:443`).verdict).toBe('allow');
  });
});

describe('with what an agent knows', () => {
  test('a name: who told it, when, what is left, which addresses', () => {
    const known = knowing(record({}), record({ address: 'fd00:98::1' as Address, toldMs: NOW - 130_000 }));
    expect(ask('a.cloud.example@6:443', known).notes).toEqual([
      'allowed now, for fd00:98::1 for 1 min 48 s more',
      'a.cloud.example is 192.0.2.1 to shop/web: 10.1.0.53 answered so 12 s ago, and it holds for 1 min 48 s more',
      'a.cloud.example is fd00:98::1 to shop/web: 10.1.0.53 answered so 2 min 10 s ago, and it holds for 1 min 48 s more',
    ]);
    expect(ask('b.cloud.example@6:443', known).notes[1]).toBe(
      'shop/web has received no DNS answer for b.cloud.example that holds now',
    );
  });

  test('a name whose address an earlier policy denies, or of the other family, is not allowed now', () => {
    const denied = knowing(record({ address: '203.0.113.1' as Address }));
    for (const to of ['a.cloud.example:443', 'a.cloud.example@6:443'])
      expect(ask(to, denied).notes[0]).toMatch(/^allowed once an answer of DNS/);
    const both = ask('a.cloud.example:443', knowing(record({}))).notes.join();
    expect(both).toMatch(/^allowed now, for 192.0.2.1 for 1 min 48 s more/);
    expect(both).not.toContain('denied until then');
  });

  test('of very many addresses the latest are shown', () => {
    const many = Array.from({ length: 300 }, (_, i) =>
      record({ address: `10.9.${i >> 8}.${i & 255}` as Address }),
    );
    expect(ask('a.cloud.example@6:443', knowing(...many)).notes).toHaveLength(1 + 5 + 1);
  });

  test('an address is allowed by its name, and the name is said', () => {
    expect(ask('192.0.2.1:443', knowing(record({})))).toMatchObject({
      verdict: 'allow',
      rule: 'egress[0]',
      notes: [
        '192.0.2.1 is a.cloud.example to shop/web: 10.1.0.53 answered so 12 s ago, and it holds for 1 min 48 s more',
      ],
    });
  });

  test('programs get the same as data', () => {
    const found = record({});
    const { resolved } = answer(
      knowing(found, record({ pod: 'shop/db' }), record({ address: '192.0.2.9' as Address })),
      {
        from: 'shop/web',
        to: '192.0.2.1:443',
      },
    );
    expect(resolved).toEqual([found]);
    expect(answer(shop, { from: 'shop/web', to: '192.0.2.1:443' }).resolved).toEqual([]);
  });

  test('one that has ended, one of another pod, one from before the agent', () => {
    const ended = ask('192.0.2.1:443', knowing(record({ untilMs: NOW - 30_000 })));
    expect(ended).toMatchObject({
      verdict: 'deny',
      notes: [
        '192.0.2.1 was a.cloud.example to shop/web until 30 s ago: the next answer of DNS brings it back',
      ],
    });
    expect(ask('192.0.2.1:443', knowing(record({ pod: 'shop/db' })))).toMatchObject({
      verdict: 'deny',
      notes: ['192.0.2.1 is a.cloud.example to shop/db; shop/web has received no such answer'],
    });
    const { from: _, ...unknown } = record({ name: '', oneOf: ['logs.example.org', '*.cloud.example'] });
    expect(ask('192.0.2.1:443', knowing(unknown))).toMatchObject({
      verdict: 'allow',
      notes: [
        '192.0.2.1 is one of logs.example.org, *.cloud.example to shop/web: the answer came before the agent started, and it holds for 1 min 48 s more',
      ],
    });
  });
});

test('what would allow a name is a rule by it, before whatever denies an address of it', () => {
  const fix = fixOf(answer(shop, { from: 'shop/web', to: 'other.example.org:443' }), shop);
  expect(fix).toMatchObject({
    verdict: 'allow',
    objects: [
      {
        metadata: { name: 'allow-web-to-other-example-org-443' },
        spec: { priority: 0, egress: [{ action: 'Accept', to: [{ domainNames: ['other.example.org'] }] }] },
      },
    ],
    flips: [{ from: 'shop/db', to: 'other.example.org', flow: { protocol: 'TCP', port: 443 } }],
  });
});

test('nothing denies a name', () => {
  const fix = fixOf(answer(shop, { from: 'shop/web', to: 'logs.example.org@6:443' }), shop);
  expect(fix).toBe('no policy denies by a name: only an edit of what allows it can');
});

describe('with what the agent of another node knows', () => {
  const other = () => {
    const known = knowing(record({ pod: 'shop/db' }));
    return { ...known, known: { ...known.known, node: 'n2' } };
  };
  const only = 'only the agent of n1 knows which DNS answers shop/web received';

  test('an address that a rule by name may allow is undecided, and it says who knows', () => {
    const found = answer(other(), { from: 'shop/web', to: '192.0.2.1:443' });
    const { verdict, reason, families, notes } = found;
    const undecided = { verdict: 'undecided', reason: only };
    expect({ verdict, reason, families, notes }).toEqual({
      ...undecided,
      families: { ip: 'undecided' },
      notes: [],
    });
    expect(groupsOf(found.cases)).toEqual([expect.objectContaining(undecided)]);
  });

  test.each(['192.0.2.1:80', '203.0.113.1:443'])('%s is denied whatever the pod was told', to => {
    expect(ask(to, other()).verdict).toBe('deny');
  });

  test('a name has the verdict that manifests have, and it says who knows', () => {
    const { verdict, notes } = ask('logs.example.org@6:443', other());
    expect(verdict).toBe('allow');
    expect(notes).toEqual([expect.stringContaining('allowed once an answer of DNS to shop/web'), only]);
    expect(ask('other.example@6:443', other()).notes).toEqual([]);
  });

  test('of pods of its own node it knows', () => {
    const known = knowing(record({}));
    const own = { ...known, known: { ...known.known, node: 'n1' } };
    expect(ask('192.0.2.1:443', own).verdict).toBe('allow');
    expect(ask('192.0.2.2:443', own).verdict).toBe('deny');
  });
});

test.each([
  [0, '0 s'],
  [59_400, '59 s'],
  [60_000, '1 min'],
  [125_000, '2 min 5 s'],
  [11_400_000, '3 h 10 min'],
])('spanText(%i) is %s', (ms, text) => {
  expect(spanText(ms)).toBe(text);
});

test.each([
  ['198.51.100.7:443', ['shop/web had received a DNS answer that logs.example.org is 198.51.100.7']],
  ['internet:443', []],
])('a rule by name nearly allows an address, and not one that represents a range: %s', (to, expected) => {
  const misses = nearMissesOf(answer(shop, { from: 'shop/web', to }), 'egress', 'allow');
  const needs = misses.flatMap(({ needs }) => needs).filter(need => need.includes('logs.example.org'));
  expect(needs).toEqual(expected);
});
