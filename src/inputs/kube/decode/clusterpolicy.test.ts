import { describe, expect, test } from 'vitest';
import { rulesText } from '../../../../test/support/oracle/rulestext.ts';
import type { Policy } from '../../../model/policy.ts';
import { problemText } from '../../../model/problem.ts';
import { podSelectorText } from '../../../model/selector.ts';
import { type Decoded, decodeObject } from './decode.ts';

const GROUP = 'policy.networking.k8s.io';
const EVERYONE = [{ namespaces: {} }];
const ALL_PODS = '(all pods in all namespaces)';

describe.each(['v1beta1', 'v1alpha2'])('decodeObject() of a ClusterNetworkPolicy %s', version => {
  const decode = decoder(`${GROUP}/${version}`, 'ClusterNetworkPolicy', { tier: 'Admin', priority: 10 });

  test.each<[string, object, string]>([
    ['C10: without rules', {}, ''],
    ['C10: with empty rules', { ingress: [], egress: null }, ''],
    [
      'C13: actions in their order',
      { ingress: ['Accept', 'Deny', 'Pass'].map(action => ({ action, from: EVERYONE })) },
      `in[${ALL_PODS}:* deny ${ALL_PODS}:* pass ${ALL_PODS}:*]`,
    ],
    [
      'C16: pods by both selectors',
      accept({
        pods: { namespaceSelector: { matchLabels: { a: 'b' } }, podSelector: { matchLabels: { c: 'd' } } },
      }),
      'eg[(pods c=d in namespaces a=b):*]',
    ],
    [
      'C16: pods of all namespaces',
      accept({ pods: { podSelector: { matchLabels: { c: 'd' } } } }),
      'eg[(pods c=d in all namespaces):*]',
    ],
    ['C31: nodes', accept({ nodes: {} }), 'eg[(nodes *):*]'],
    [
      'C36: networks, their host bits masked',
      accept({ networks: ['10.0.0.7/8', 'fd00::/8'] }),
      'eg[10.0.0.0/8,fd00::/8:*]',
    ],
    [
      'C20: several peers',
      accept({ namespaces: { matchLabels: { a: 'b' } } }, { networks: ['0.0.0.0/0'] }),
      'eg[(all pods in namespaces a=b),0.0.0.0/0:*]',
    ],
    [
      'C24: port numbers and ranges of each protocol',
      protocols(
        { tcp: { destinationPort: { number: 80 } } },
        { udp: { destinationPort: { range: { start: 1, end: 65535 } } } },
        { sctp: { destinationPort: { number: 65535 } } },
      ),
      `eg[${ALL_PODS}:TCP/80-80,UDP/1-65535,SCTP/65535-65535]`,
    ],
    [
      'C27: a named port has no protocol',
      protocols({ destinationNamedPort: 'web' }),
      `eg[${ALL_PODS}:?/web]`,
    ],
    [
      'C21: null protocols are none',
      { egress: [{ action: 'Accept', to: EVERYONE, protocols: null }] },
      `eg[${ALL_PODS}:*]`,
    ],
  ])('%s', (_, spec, expected) => {
    const decoded = decode(spec);
    expect(decoded.problems).toEqual([]);
    expect(policyText(decoded)).toBe(expected);
  });

  test('C1, C11: gives its tier and its priority, both ends included', () => {
    for (const [tier, priority] of [
      ['Admin', 0],
      ['Baseline', 1000],
    ] as const) {
      const { event } = decode({ tier, priority });
      expect(event!.value).toMatchObject({ tier: tier.toLowerCase(), order: priority });
    }
  });

  test('C44: keeps the names of rules', () => {
    const { event } = decode({ ingress: [{ name: 'metrics', action: 'Deny', from: EVERYONE }] });
    expect((event!.value as Policy).ingress).toMatchObject([{ path: 'ingress[0]', name: 'metrics' }]);
  });

  const CLOSED = 'the rule matches nothing until it is fixed';
  const DENIED = 'the rule denies everything until it is fixed';

  test.each<[string, object, object, string]>([
    ['C22: an empty peer', {}, {}, 'to[0] must have namespaces or pods or nodes or networks or domainNames'],
    ['C17: a peer that is null', { namespaces: null }, {}, 'to[0] must have namespaces or pods'],
    ['C22: two peers in one', { namespaces: {}, nodes: {} }, {}, 'to[0] must have only one of'],
    ['C22: a peer of a later version', { services: {} }, {}, 'to[0].services is not a known field'],
    [
      'C51: namespaces in the dialect of v0.1.1',
      { namespaces: { namespaceSelector: { matchLabels: { a: 'b' } } } },
      {},
      'to[0].namespaces.namespaceSelector is not a known field',
    ],
    [
      'C51: pods in the dialect of v0.1.1',
      { pods: { namespaces: { namespaceSelector: {} }, podSelector: {} } },
      {},
      'to[0].pods.namespaces is not a known field',
    ],
    ['C16: pods without a podSelector', { pods: {} }, {}, 'to[0].pods.podSelector is missing'],
    [
      '4.12: an operator that is none',
      { nodes: { matchExpressions: [{ key: 'a', operator: 'notIn', values: ['b'] }] } },
      {},
      'to[0].nodes.matchExpressions[0].operator must be In or NotIn or Exists or DoesNotExist, not "notIn"',
    ],
    [
      'C36: a network that is none',
      { networks: ['10.0.0.0/8', '10.0.0'] },
      {},
      'to[0].networks[1] "10.0.0" is not a network',
    ],
    ['no network', { networks: [] }, {}, 'to[0].networks must have at least one entry'],
    [
      'a network that is no list',
      { networks: '10.0.0.0/8' },
      {},
      'to[0].networks must be a list, not "10.0.0.0/8"',
    ],
    [
      'C23: an empty protocol',
      { namespaces: {} },
      { protocols: [{}] },
      'protocols[0] must have tcp or udp or sctp or destinationNamedPort',
    ],
    [
      'C23: a protocol of a later version',
      { namespaces: {} },
      { protocols: [{ quic: {} }] },
      'protocols[0].quic is not a known field',
    ],
    [
      'C25, 4.13: all of a protocol',
      { namespaces: {} },
      { protocols: [{ tcp: {} }] },
      'protocols[0].tcp must have destinationPort',
    ],
    [
      'a source port',
      { namespaces: {} },
      { protocols: [{ tcp: { sourcePort: 1, destinationPort: { number: 80 } } }] },
      'protocols[0].tcp.sourcePort is not a known field',
    ],
    [
      'C24: number and range',
      { namespaces: {} },
      { protocols: [{ tcp: { destinationPort: { number: 80, range: { start: 1, end: 2 } } } }] },
      'protocols[0].tcp.destinationPort must have only one of number or range',
    ],
    [
      'C24: port 65536',
      { namespaces: {} },
      { protocols: [{ udp: { destinationPort: { number: 65536 } } }] },
      'protocols[0].udp.destinationPort.number must be a number from 1 to 65535, not 65536',
    ],
    [
      'C24: a range that runs backwards',
      { namespaces: {} },
      { protocols: [{ udp: { destinationPort: { range: { start: 8, end: 7 } } } }] },
      'protocols[0].udp.destinationPort.range must end after its start 8',
    ],
    [
      'a range without an end',
      { namespaces: {} },
      { protocols: [{ udp: { destinationPort: { range: { start: 8 } } } }] },
      'protocols[0].udp.destinationPort.range.end is missing',
    ],
    [
      'ports in the other dialect',
      { namespaces: {} },
      { ports: [{ portNumber: { port: 80 } }] },
      'ports is not a known field',
    ],
    [
      'protocols that are no list',
      { namespaces: {} },
      { protocols: {} },
      'protocols must be a list, not a map',
    ],
    ['a key that is none', { namespaces: {} }, { from: [] }, 'from is not a known field'],
    ['a name that is none', { namespaces: {} }, { name: 7 }, 'name must be text, not 7: put it in quotes'],
    [
      'C39: a domain name that is none',
      { domainNames: ['*.com'] },
      {},
      'to[0].domainNames[0] "*.com" is not a domain name (it needs two labels behind *., as *.example.org)',
    ],
  ])('%s matches nothing in an Accept and everything in a Deny or Pass', (_, peer, rest, problem) => {
    for (const [action, effect, expected] of [
      ['Accept', CLOSED, 'eg[:]'],
      ['Deny', DENIED, 'eg[deny *:*]'],
      ['Pass', DENIED, 'eg[deny *:*]'],
    ] as const) {
      // C22: a good peer beside it changes nothing.
      const decoded = decode({ egress: [{ action, to: [peer, { namespaces: {} }], ...rest }] });
      expect(errors(decoded)).toContainEqual(expect.stringContaining(problem));
      for (const text of errors(decoded)) expect(text).toContain(effect);
      expect(policyText(decoded)).toBe(expected);
    }
  });

  test.each<[string, object, string]>([
    [
      '4.10: an action of the other dialect',
      { action: 'Allow', from: EVERYONE },
      'action must be Accept or Deny or Pass, not "Allow"',
    ],
    ['4.10: no action', { from: EVERYONE }, 'action is missing'],
    ['a rule that is null', { action: null }, 'action is missing'],
  ])('%s denies everything', (_, rule, problem) => {
    const decoded = decode({ ingress: [rule] });
    expect(errors(decoded)).toContainEqual(expect.stringContaining(`spec.ingress[0].${problem}; ${DENIED}`));
    expect(policyText(decoded)).toBe('in[deny *:*]');
  });

  test('C20: no peer is never every peer', () => {
    for (const to of [undefined, null, [], 'x']) {
      expect(policyText(decode({ egress: [{ action: 'Accept', to }] }))).toBe('eg[:]');
      expect(policyText(decode({ egress: [{ action: 'Pass', to }] }))).toBe('eg[deny *:*]');
    }
  });

  test('C18, C19: an ingress rule has no nodes, networks or domain names', () => {
    for (const peer of [{ nodes: {} }, { networks: ['0.0.0.0/0'] }, { domainNames: ['a.io'] }])
      expect(policyText(decode({ ingress: [{ action: 'Accept', from: [peer] }] }))).toBe('in[:]');
  });

  test('C38, C39: domain names are kept in lower case without a last dot', () => {
    const decoded = decode(accept({ domainNames: ['*.Kubernetes.IO.', 'blog.kubernetes.io'] }));
    expect(policyText(decoded)).toBe('eg[*.kubernetes.io,blog.kubernetes.io:*]');
    expect(decoded.problems).toEqual([]);
  });

  test('4.11: domain names cannot be denied or passed', () => {
    for (const action of ['Deny', 'Pass']) {
      const decoded = decode({ egress: [{ action, to: [{ domainNames: ['a.io'] }] }] });
      expect(policyText(decoded)).toBe('eg[deny *:*]');
      expect(errors(decoded)).toEqual([
        expect.stringContaining('can only be accepted, not denied or passed'),
      ]);
    }
  });

  test.each<[string, object, string]>([
    [
      'C21: empty protocols are read as none',
      { egress: [{ action: 'Deny', to: EVERYONE, protocols: [] }] },
      'protocols is empty',
    ],
    [
      'C29: a named port beside a network matches pods only',
      {
        egress: [
          {
            action: 'Deny',
            to: [{ networks: ['10.0.0.0/8'] }],
            protocols: [{ destinationNamedPort: 'web' }],
          },
        ],
      },
      'protocols has a named port beside peers that have none; the port matches pods only',
    ],
    [
      'C44: 26 rules',
      { ingress: Array(26).fill({ action: 'Deny', from: EVERYONE }) },
      'spec.ingress has 26 entries, and the API server takes 25',
    ],
    [
      'C44: a long name',
      { ingress: [{ name: 'n'.repeat(101), action: 'Deny', from: EVERYONE }] },
      'name has more than 100 characters',
    ],
  ])('%s, with a warning', (_, spec, problem) => {
    const { event, problems } = decode(spec);
    const { ingress, egress } = event!.value as Policy;
    expect(
      (ingress ?? egress)!.every(
        ({ action, peers }) => action === 'deny' && peers.length > 0 && peers !== 'any',
      ),
    ).toBe(true);
    expect(problems.map(({ severity }) => severity)).toEqual(['warning']);
    expect(problemText(problems[0]!)).toContain(problem);
  });
});

describe.each([
  ['AdminNetworkPolicy', 'x', { priority: 7 }],
  ['BaselineAdminNetworkPolicy', 'default', {}],
])('decodeObject() of a %s v1alpha1', (kind, name, frame) => {
  const decode = decoder(`${GROUP}/v1alpha1`, kind, frame, name);

  test.each<[string, object, string]>([
    [
      'C26: a port is TCP unless it says otherwise',
      ports({ portNumber: { port: 80 } }, { portNumber: { protocol: 'UDP', port: 53 } }),
      `eg[${ALL_PODS}:TCP/80-80,UDP/53-53]`,
    ],
    [
      'C26: a range',
      ports({ portRange: { start: 80, end: 90 } }, { portRange: { protocol: 'SCTP', start: 1, end: 1 } }),
      `eg[${ALL_PODS}:TCP/80-90,SCTP/1-1]`,
    ],
    ['C27: a named port', ports({ namedPort: 'web' }), `eg[${ALL_PODS}:?/web]`],
    [
      'Allow and Deny',
      {
        ingress: [
          { action: 'Deny', from: EVERYONE },
          { action: 'Allow', from: EVERYONE },
        ],
      },
      `in[deny ${ALL_PODS}:* ${ALL_PODS}:*]`,
    ],
    [
      'nodes and networks',
      { egress: [{ action: 'Deny', to: [{ nodes: {} }, { networks: ['::/0'] }] }] },
      'eg[deny (nodes *),::/0:*]',
    ],
  ])('%s', (_, spec, expected) => {
    const decoded = decode(spec);
    expect(decoded.problems).toEqual([]);
    expect(policyText(decoded)).toBe(expected);
  });

  test('C26: a range that runs backwards matches nothing, with a warning', () => {
    const decoded = decode(ports({ portRange: { start: 9, end: 8 } }));
    expect(policyText(decoded)).toBe(`eg[${ALL_PODS}:TCP/9-8]`);
    expect(decoded.problems).toMatchObject([{ severity: 'warning', effect: 'the range matches nothing' }]);
  });

  test.each<[string, object, string]>([
    ['an empty port', ports({}), 'ports[0] must have portNumber or portRange or namedPort'],
    [
      'a protocol that is none',
      ports({ portNumber: { protocol: 'ICMP', port: 1 } }),
      'ports[0].portNumber.protocol must be TCP or UDP or SCTP, not "ICMP"',
    ],
    ['a port without a number', ports({ portNumber: {} }), 'ports[0].portNumber.port is missing'],
    [
      'protocols in the other dialect',
      { egress: [{ action: 'Allow', to: EVERYONE, protocols: [] }] },
      'protocols is not a known field',
    ],
    [
      'pods without a namespaceSelector',
      { egress: [{ action: 'Allow', to: [{ pods: { podSelector: {} } }] }] },
      'pods.namespaceSelector is missing',
    ],
    [
      'C51: namespaces in the dialect of v0.1.1',
      { egress: [{ action: 'Allow', to: [{ namespaces: { sameLabels: ['a'] } }] }] },
      'sameLabels is not a known field',
    ],
  ])('%s makes the rule match nothing', (_, spec, problem) => {
    const decoded = decode(spec);
    expect(errors(decoded)).toEqual([expect.stringContaining(problem)]);
    expect(policyText(decoded)).toBe('eg[:]');
  });

  test('the word of the other dialect, Accept, is no action', () => {
    expect(policyText(decode({ ingress: [{ action: 'Accept', from: EVERYONE }] }))).toBe('in[deny *:*]');
  });
});

test('a policy beyond its budget accepts nothing, denies all that it would deny or pass, and says why', () => {
  const decode = decoder(`${GROUP}/v1beta1`, 'ClusterNetworkPolicy', { tier: 'Admin', priority: 10 });
  const to = [{ networks: Array.from({ length: 20_000 }, (_, i) => `10.${i >> 8}.${i & 255}.0/24`) }];
  const decoded = decode({ egress: ['Accept', 'Pass'].map(action => ({ action, to })) });
  expect(policyText(decoded)).toBe('eg[: deny *:*]');
  expect(decoded.problems).toMatchObject([
    {
      severity: 'error',
      field: 'spec',
      message: expect.stringContaining('has more than 20000 entries'),
      effect:
        'until it is smaller, rules that accept match nothing, and rules that deny or pass deny everything',
    },
  ]);
});

test('C37: a BaselineAdminNetworkPolicy knows neither domain names nor Pass', () => {
  const decode = decoder(`${GROUP}/v1alpha1`, 'BaselineAdminNetworkPolicy', {}, 'default');
  expect(policyText(decode({ egress: [{ action: 'Allow', to: [{ domainNames: ['a.io'] }] }] }))).toBe(
    'eg[:]',
  );
  expect(policyText(decode({ egress: [{ action: 'Pass', to: EVERYONE }] }))).toBe('eg[deny *:*]');
});

test('C43: a BaselineAdminNetworkPolicy that is not called default is ignored and reported', () => {
  const { event, problems } = decoder(`${GROUP}/v1alpha1`, 'BaselineAdminNetworkPolicy', {}, 'other')({});
  expect(event).toBeUndefined();
  expect(problems.map(problemText)).toEqual([
    'BaselineAdminNetworkPolicy other: metadata.name must be default; the policy is ignored',
  ]);
});

describe('decodeObject() of a cluster policy of which nobody knows', () => {
  const CNP = {
    tier: 'Baseline',
    priority: 1,
    subject: { namespaces: {} },
    ingress: ['Accept', 'Deny', 'Pass'].map(action => ({ action, from: EVERYONE })),
  };
  const decoded = (kind: string, spec: object) => {
    const apiVersion = `${GROUP}/${kind === 'ClusterNetworkPolicy' ? 'v1beta1' : 'v1alpha1'}`;
    const metadata = { name: 'default' };
    return decodeObject({ apiVersion, kind, metadata, spec: JSON.parse(JSON.stringify(spec)) });
  };

  test.each<[string, string, object, string, string]>([
    ['the tier', 'ClusterNetworkPolicy', { tier: null }, 'spec.tier is missing', 'admin'],
    ['the tier, which is none', 'ClusterNetworkPolicy', { tier: 'admin' }, 'spec.tier must be', 'admin'],
    ['the priority', 'ClusterNetworkPolicy', { priority: null }, 'spec.priority is missing', 'baseline'],
    ['the priority of 1001', 'ClusterNetworkPolicy', { priority: 1001 }, 'spec.priority must be', 'baseline'],
    [
      'the priority of -1',
      'AdminNetworkPolicy',
      {
        tier: undefined,
        priority: -1,
        ingress: ['Deny', 'Pass'].map(action => ({ action, from: EVERYONE })),
      },
      'spec.priority must be',
      'admin',
    ],
  ])('%s keeps its denials, before all others', (_, kind, spec, problem, tier) => {
    const { event, problems } = decoded(kind, { ...CNP, ...spec });
    expect(event!.value).toMatchObject({ tier, order: -1 });
    expect(policyText({ event: event!, problems })).toBe(`in[deny ${ALL_PODS}:* deny ${ALL_PODS}:*]`);
    expect(problems.map(problemText)).toContainEqual(expect.stringContaining(problem));
    for (const { effect } of problems) expect(effect).toMatch(/the policy comes first|denies everything/);
  });

  test.each<[string, object, string, string]>([
    ['without a subject', { subject: null }, 'spec.subject is missing', 'all pods in all namespaces'],
    [
      'C17: an empty subject',
      { subject: { namespaces: null } },
      'spec.subject must have namespaces or pods',
      'all pods in all namespaces',
    ],
    [
      'two subjects',
      { subject: { namespaces: {}, pods: { podSelector: {} } } },
      'spec.subject must have only one of',
      'all pods in all namespaces',
    ],
    [
      'C51: a subject in the dialect of v0.1.1',
      { subject: { namespaces: { namespaceSelector: {} } } },
      'spec.subject.namespaces.namespaceSelector is not a known field',
      'all pods in all namespaces',
    ],
    [
      '4.12: an operator that is none, beside labels that can be read',
      {
        subject: {
          namespaces: { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'a', operator: 'notIn' }] },
        },
      },
      'spec.subject.namespaces.matchExpressions[0].operator must be',
      'all pods in namespaces a=b',
    ],
    [
      'a label that is no text, beside one that is',
      { subject: { pods: { podSelector: { matchLabels: { a: 'b', c: 5 } } } } },
      'spec.subject.pods.podSelector.matchLabels.c must be text',
      'pods a=b in all namespaces',
    ],
  ])('%s: whom it means keeps its rules, for whoever it may be', (_, spec, problem, subject) => {
    const { event, problems } = decoded('ClusterNetworkPolicy', { ...CNP, ...spec });
    const policy = event!.value as Policy;
    const { namespaces, pods } = policy.subject;
    expect(podSelectorText(policy.subject)).toBe(subject);
    expect([pods, namespaces.kind === 'labels' && namespaces.selector]).toContainEqual(
      expect.objectContaining({ unreadable: true }),
    );
    expect(policy.ingress).toHaveLength(3);
    expect(problems.map(problemText)).toContainEqual(expect.stringContaining(problem));
    for (const { effect } of problems)
      expect(effect).toMatch(/concerns every pod that the rest of its subject/);
  });

  test('a direction that is no list denies all of it', () => {
    const { event, problems } = decoded('ClusterNetworkPolicy', { ...CNP, ingress: {} });
    expect(policyText({ event: event!, problems })).toBe('in[deny *:*]');
    expect(problems.map(problemText)).toEqual([
      'ClusterNetworkPolicy default: spec.ingress must be a list, not a map; the policy denies everything in this direction until it is fixed',
    ]);
  });

  test('anything, because it has no spec, is not applied', () => {
    const { event, problems } = decoded('ClusterNetworkPolicy', []);
    expect(event).toBeUndefined();
    expect(problems.map(problemText)).toEqual([
      'ClusterNetworkPolicy default: spec must be a map, not a list; the policy is not applied; if it was good before, its last good version stays in force',
    ]);
  });
});

test('decodeObject() selects the subject of a cluster policy by namespaces, or by both selectors', () => {
  const decode = decoder(`${GROUP}/v1beta1`, 'ClusterNetworkPolicy', { tier: 'Admin', priority: 1 });
  const subjectOf = (subject: object) =>
    podSelectorText((decode({ subject }).event!.value as Policy).subject);
  expect(subjectOf({ namespaces: {} })).toBe('all pods in all namespaces');
  expect(subjectOf({ namespaces: { matchLabels: { a: 'b' } } })).toBe('all pods in namespaces a=b');
  expect(subjectOf({ pods: { podSelector: { matchLabels: { a: 'b' } } } })).toBe(
    'pods a=b in all namespaces',
  );
});

type Decode = (spec: object) => Decoded;

function decoder(apiVersion: string, kind: string, frame: object, name = 'p'): Decode {
  return spec =>
    decodeObject({
      apiVersion,
      kind,
      metadata: { name },
      spec: { subject: { namespaces: {} }, ...frame, ...spec },
    });
}

function accept(...to: object[]) {
  return { egress: [{ action: 'Accept', to }] };
}

function protocols(...entries: object[]) {
  return { egress: [{ action: 'Accept', to: EVERYONE, protocols: entries }] };
}

function ports(...entries: object[]) {
  return { egress: [{ action: 'Allow', to: EVERYONE, ports: entries }] };
}

function errors({ problems }: Decoded): string[] {
  return problems.filter(({ severity }) => severity === 'error').map(problemText);
}

function policyText({ event }: Decoded): string {
  const { ingress, egress } = event!.value as Policy;
  return [ingress && `in[${rulesText(ingress)}]`, egress && `eg[${rulesText(egress)}]`]
    .filter(text => text !== undefined)
    .join(' ');
}

test('decodeObject() takes no rule at its word where the spec has a key that nobody knows', () => {
  const rules = [{ action: 'Accept' }, { action: 'Deny' }, { action: 'Pass' }].map(rule => ({
    ...rule,
    from: [{ namespaces: { matchLabels: { team: 'red' } } }],
  }));
  const { event, problems } = decodeObject({
    apiVersion: 'policy.networking.k8s.io/v1alpha2',
    kind: 'ClusterNetworkPolicy',
    metadata: { name: 'typo' },
    spec: { tier: 'Admin', priority: 1, subject: { namespaces: {} }, onlyOnMondays: true, ingress: rules },
  });
  expect(problems.map(problemText)).toEqual([
    expect.stringContaining('spec.onlyOnMondays is not a known field'),
  ]);
  const policy = event?.value as Policy;
  expect(policy.ingress).toMatchObject([
    { action: 'accept', peers: [] },
    { action: 'deny', peers: 'any', ports: 'any' },
    { action: 'deny', peers: 'any', ports: 'any' },
  ]);
});

test('of a policy that is too large a rule whose action is none of the words denies', () => {
  const actions = ['Deny', 'constructor', 'toString', { toString: 1 }, ['Accept'], null];
  const rules = Array.from({ length: 1_001 }, (_, i) => ({
    action: actions[i % actions.length],
    from: EVERYONE,
  }));
  const { event } = decodeObject({
    apiVersion: `${GROUP}/v1beta1`,
    kind: 'ClusterNetworkPolicy',
    metadata: { name: 'x' },
    spec: { tier: 'Admin', priority: 1, subject: { namespaces: {} }, ingress: rules },
  });
  const { ingress = [] } = event!.value as Policy;
  expect(ingress.filter(({ action, peers }) => action === 'deny' && peers === 'any')).toHaveLength(1_001);
});
