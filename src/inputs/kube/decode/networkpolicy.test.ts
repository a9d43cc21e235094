import { describe, expect, test } from 'vitest';
import { rulesText } from '../../../../test/support/oracle/rulestext.ts';
import type { Policy } from '../../../model/policy.ts';
import { problemText } from '../../../model/problem.ts';
import { podSelectorText } from '../../../model/selector.ts';
import { type Decoded, decodeObject } from './decode.ts';

describe('decodeNetworkPolicy() gives what the API server leaves out', () => {
  test.each<[string, object, string]>([
    ['N4: no types is Ingress', {}, 'in[]'],
    ['N4: empty types are no types', { policyTypes: [] }, 'in[]'],
    ['N4: an empty egress list adds no type', { egress: [] }, 'in[]'],
    ['N4: an egress rule adds Egress', { egress: [{}] }, 'in[] eg[*:*]'],
    ['N6: rules of a direction that is not listed', { policyTypes: ['Egress'], ingress: [{}] }, 'eg[]'],
    ['N7: a type may repeat', { policyTypes: ['Ingress', 'Ingress'] }, 'in[]'],
    ['N8: null rules are no rules', { ingress: null }, 'in[]'],
    ['N9: an empty rule is every peer and port', { ingress: [{}] }, 'in[*:*]'],
    ['N10, N11: empty lists are no constraint', { ingress: [{ from: [], ports: [] }] }, 'in[*:*]'],
    ['N10, N11: null lists are no constraint', { ingress: [{ from: null, ports: null }] }, 'in[*:*]'],
    [
      'N13: pods of the policy’s own namespace',
      from({ podSelector: {} }),
      'in[(all pods in namespace shop):*]',
    ],
    ['N14: pods of all namespaces', from({ namespaceSelector: {} }), 'in[(all pods in all namespaces):*]'],
    [
      'N15: both selectors of one peer hold',
      from({ namespaceSelector: { matchLabels: { team: 'a' } }, podSelector: { matchLabels: { app: 'b' } } }),
      'in[(pods app=b in namespaces team=a):*]',
    ],
    [
      'N15: two peers are alternatives',
      from(
        { podSelector: { matchLabels: { app: 'b' } } },
        { namespaceSelector: { matchLabels: { team: 'a' } } },
      ),
      'in[(pods app=b in namespace shop),(all pods in namespaces team=a):*]',
    ],
    [
      'N16: a null selector is none',
      from({ namespaceSelector: null, podSelector: {} }),
      'in[(all pods in namespace shop):*]',
    ],
    [
      'N55: labels and expressions, all operators',
      from({
        podSelector: {
          matchLabels: { app: 'b', 'example.com/x': '' },
          matchExpressions: [
            { key: 'tier', operator: 'In', values: ['a', 'b'] },
            { key: 'tier', operator: 'NotIn', values: ['c'] },
            { key: 'old', operator: 'DoesNotExist' },
            { key: 'new', operator: 'Exists', values: [] },
          ],
        },
      }),
      'in[(pods app=b,example.com/x=,tier in (a, b),tier!=c,!old,new in namespace shop):*]',
    ],
    [
      'N20: a network without parts of it',
      from({ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }),
      'in[10.0.0.0/8-10.1.0.0/16:*]',
    ],
    ['N23: host bits are masked', from({ ipBlock: { cidr: '10.0.0.5/24' } }), 'in[10.0.0.0/24:*]'],
    ['N23: leading zeros are decimal', from({ ipBlock: { cidr: '010.0.0.0/08' } }), 'in[10.0.0.0/8:*]'],
    ['N23: mapped networks are IPv4', from({ ipBlock: { cidr: '::ffff:10.0.0.0/104' } }), 'in[10.0.0.0/8:*]'],
    ['N25: a port without a protocol is TCP', ports({ port: 80 }), 'in[*:TCP/80-80]'],
    ['N26: a protocol without a port', ports({ protocol: 'UDP' }), 'in[*:UDP/*]'],
    ['N26: neither is all of TCP', ports({}), 'in[*:TCP/*]'],
    ['N27: both ends of a range', ports({ port: 80, endPort: 90 }), 'in[*:TCP/80-90]'],
    ['N27: a range of one', ports({ port: 80, endPort: 80 }), 'in[*:TCP/80-80]'],
    ['N31: a name with its protocol', ports({ port: 'dns', protocol: 'UDP' }), 'in[*:UDP/dns]'],
    ['N34: SCTP', ports({ port: 80, protocol: 'SCTP' }), 'in[*:SCTP/80-80]'],
  ])('%s', (_, spec, expected) => {
    const decoded = decode({ podSelector: {}, ...spec });
    expect(decoded.problems.filter(({ code }) => code !== 'unread-rules')).toEqual([]);
    expect(policyText(decoded)).toBe(expected);
  });

  test.each([
    ['ingress', 'Ingress', ['Egress']],
    ['egress', 'Egress', ['Ingress']],
  ])('N6: rules of %s that are not read are warned of', (direction, type, policyTypes) => {
    const rules = { ingress: [{}], egress: [{}] };
    const { problems } = decode({ podSelector: {}, policyTypes, ...rules });
    expect(problems.map(({ severity, field, message }) => [severity, field, message])).toEqual([
      ['warning', `spec.${direction}`, `is never read, because policyTypes leaves out ${type}`],
    ]);
    expect(decode({ podSelector: {}, policyTypes, ...rules, [direction]: [] }).problems).toEqual([]);
    expect(decode({ podSelector: {}, ...rules }).problems).toEqual([]);
  });

  test('N5: an absent or null podSelector is every pod, and an absent namespace is `default`', () => {
    for (const spec of [{}, { podSelector: null }]) {
      const { event, problems } = decodeObject({ ...TYPE, metadata: { name: 'web' }, spec });
      expect(problems).toEqual([]);
      expect(event!.key).toBe('NetworkPolicy default/web');
      expect(podSelectorText((event!.value as Policy).subject)).toBe('all pods in namespace default');
    }
  });
});

const PEER = 'the peer matches nothing until it is fixed';
const PORT = 'the port matches nothing until it is fixed';
const RULE = 'the rule matches nothing until it is fixed';
const DIRECTION = 'no rule of this direction matches until it is fixed';
const BOTH = 'the policy isolates its pods in both directions until it is fixed';

describe('decodeNetworkPolicy() of bad input says what and where, and never opens', () => {
  test.each<[string, object, string, string]>([
    ['N17: an empty peer', from({}), `from[0] names no peer; ${PEER}`, 'in[:*]'],
    ['N17: a peer that is null', { ingress: [{ from: [null] }] }, `from[0] is missing; ${PEER}`, 'in[:*]'],
    [
      'N18: a network beside a selector',
      from({ ipBlock: { cidr: '10.0.0.0/8' }, podSelector: {} }),
      `from[0].ipBlock is set beside a selector, and a peer is one or the other; ${PEER}`,
      'in[:*]',
    ],
    [
      'N21: an exception as wide as its network',
      from({ ipBlock: { cidr: '10.0.0.0/8', except: ['10.0.0.0/8'] } }),
      `from[0].ipBlock.except[0] "10.0.0.0/8" is not a part of the network that it is taken from; ${PEER}`,
      'in[:*]',
    ],
    [
      'N21: an exception outside its network',
      from({ ipBlock: { cidr: '10.0.0.0/8', except: ['11.0.0.0/16'] } }),
      `from[0].ipBlock.except[0] "11.0.0.0/16" is not a part of the network that it is taken from; ${PEER}`,
      'in[:*]',
    ],
    [
      'N24: a network that is none',
      from({ ipBlock: { cidr: '10.0.0.0/33' } }),
      `from[0].ipBlock.cidr "10.0.0.0/33" is not a network; ${PEER}`,
      'in[:*]',
    ],
    [
      'N24: an exception that is none',
      from({ ipBlock: { cidr: '10.0.0.0/8', except: ['10.0.0.0'] } }),
      `from[0].ipBlock.except[0] "10.0.0.0" is not a network; ${PEER}`,
      'in[:*]',
    ],
    ['N24: no network', from({ ipBlock: {} }), `from[0].ipBlock.cidr is missing; ${PEER}`, 'in[:*]'],
    [
      'N24: an exception for nobody, beside a good peer',
      from({ ipBlock: { cidr: '10.0.0.0/8', except: '10.1.0.0/16' } }, { ipBlock: { cidr: '11.0.0.0/8' } }),
      `from[0].ipBlock.except must be a list, not "10.1.0.0/16"; ${PEER}`,
      'in[11.0.0.0/8:*]',
    ],
    [
      'N59: an operator that is none',
      from({ podSelector: { matchExpressions: [{ key: 'a', operator: 'notIn', values: ['b'] }] } }),
      `from[0].podSelector.matchExpressions[0].operator must be In or NotIn or Exists or DoesNotExist, not "notIn"; ${PEER}`,
      'in[:*]',
    ],
    [
      'N59: In without a value',
      from({ podSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } }),
      `from[0].podSelector.matchExpressions[0].values must name a value, because the operator is In; ${PEER}`,
      'in[:*]',
    ],
    [
      'N59: Exists with a value',
      from({ podSelector: { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] } }),
      `from[0].podSelector.matchExpressions[0].values must be empty, because the operator is Exists; ${PEER}`,
      'in[:*]',
    ],
    [
      'a label that is no text',
      from({ podSelector: { matchLabels: { version: 1.5 } } }),
      `from[0].podSelector.matchLabels.version must be text, not 1.5: put it in quotes; ${PEER}`,
      'in[:*]',
    ],
    [
      'a label key that is none',
      from({ podSelector: { matchLabels: { 'a b': 'c' } } }),
      `from[0].podSelector.matchLabels.a b has "a b", which is not a label key; ${PEER}`,
      'in[:*]',
    ],
    [
      'a label value that is none',
      from({ podSelector: { matchLabels: { a: '-b' } } }),
      `from[0].podSelector.matchLabels.a has "-b", which is not a label value; ${PEER}`,
      'in[:*]',
    ],
    [
      'an unknown key in a peer',
      from({ podSelecter: {} }),
      `from[0].podSelecter is not a known field (did you mean podSelector?); ${PEER}`,
      'in[:*]',
    ],
    [
      'an unknown key in a selector',
      from({ podSelector: { app: 'web' } }),
      `from[0].podSelector.app is not a known field; ${PEER}`,
      'in[:*]',
    ],
    [
      'an unknown key in a rule',
      { ingress: [{ to: [] }] },
      `ingress[0].to is not a known field; ${RULE}`,
      'in[:]',
    ],
    ['a rule that is null', { ingress: [null, {}] }, `ingress[0] is missing; ${RULE}`, 'in[: *:*]'],
    ['a rule that is text', { ingress: ['any'] }, `ingress[0] must be a map, not "any"; ${RULE}`, 'in[:]'],
    [
      'peers that are no list',
      { ingress: [{ from: { podSelector: {} } }] },
      `from must be a list, not a map; ${RULE}`,
      'in[:*]',
    ],
    [
      'ports that are no list',
      { ingress: [{ ports: 80 }] },
      `ports must be a list, not 80; ${RULE}`,
      'in[*:]',
    ],
    [
      'rules that are no list',
      { ingress: {} },
      `spec.ingress must be a list, not a map; ${DIRECTION}`,
      'in[]',
    ],
    [
      'egress rules that are no list',
      { egress: 'all' },
      `spec.egress must be a list, not "all"; ${DIRECTION}`,
      'in[] eg[]',
    ],
    [
      'a type that is none',
      { policyTypes: ['ingress'] },
      `spec.policyTypes[0] must be Ingress or Egress, not "ingress"; ${BOTH}`,
      'in[] eg[]',
    ],
    [
      'N7: three types',
      { policyTypes: ['Ingress', 'Ingress', 'Ingress'] },
      `spec.policyTypes must have two entries at most; ${BOTH}`,
      'in[] eg[]',
    ],
    [
      'types that are no list',
      { policyTypes: 'Ingress' },
      `spec.policyTypes must be a list, not "Ingress"; ${BOTH}`,
      'in[] eg[]',
    ],
    [
      'an unknown key in the spec, beside rules that are good',
      { ingress: [{}], egres: [] },
      `spec.egres is not a known field (did you mean egress?); ${BOTH}`,
      'in[*:*] eg[]',
    ],
    [
      'a protocol that is none, beside a port that is good',
      ports({ port: 80, protocol: 'tcp' }, { port: 81 }),
      `ports[0].protocol must be TCP or UDP or SCTP, not "tcp"; ${PORT}`,
      'in[*:TCP/81-81]',
    ],
    [
      'port 0',
      ports({ port: 0 }),
      `ports[0].port must be a number from 1 to 65535, not 0; ${PORT}`,
      'in[*:]',
    ],
    [
      'port 65536',
      ports({ port: 65536 }),
      `ports[0].port must be a number from 1 to 65535, not 65536; ${PORT}`,
      'in[*:]',
    ],
    [
      'port 80.5',
      ports({ port: 80.5 }),
      'ports[0].port must be a number from 1 to 65535, not 80.5',
      'in[*:]',
    ],
    [
      'port true',
      ports({ port: true }),
      'ports[0].port must be a number from 1 to 65535, not true',
      'in[*:]',
    ],
    [
      'a number in quotes',
      ports({ port: '80' }),
      `ports[0].port "80" is text; write a port number without quotes; ${PORT}`,
      'in[*:]',
    ],
    [
      'a port name that is none',
      ports({ port: 'Web!' }),
      `ports[0].port "Web!" is not the name of a port; ${PORT}`,
      'in[*:]',
    ],
    [
      'N27: a range that runs backwards',
      ports({ port: 80, endPort: 79 }),
      `ports[0].endPort 79 is less than the port 80; ${PORT}`,
      'in[*:]',
    ],
    [
      'N27: an end without a beginning',
      ports({ endPort: 80 }),
      `ports[0].endPort needs a port that is a number beside it; ${PORT}`,
      'in[*:]',
    ],
    [
      'N27: an end after a name',
      ports({ port: 'web', endPort: 80 }),
      `ports[0].endPort needs a port that is a number beside it; ${PORT}`,
      'in[*:]',
    ],
    [
      'an unknown key in a port',
      ports({ targetPort: 80 }),
      `ports[0].targetPort is not a known field; ${PORT}`,
      'in[*:]',
    ],
  ])('%s', (_, spec, problem, expected) => {
    const decoded = decode({ podSelector: {}, ...spec });
    expect(decoded.problems.map(problemText)).toEqual([expect.stringContaining(problem)]);
    expect(problemText(decoded.problems[0]!)).toMatch(/^NetworkPolicy shop\/web: spec\./);
    expect(policyText(decoded)).toBe(expected);
  });
});

describe('decodeNetworkPolicy() applies no policy', () => {
  const METADATA = { name: 'web', namespace: 'shop' };
  test.each<[string, object, string]>([
    ['whose spec is a list', { metadata: METADATA, spec: [] }, 'spec must be a map, not a list'],
    ['without a name', { metadata: { namespace: 'shop' }, spec: {} }, 'metadata.name is missing'],
    ['whose name is none', { metadata: { name: 'a/b' }, spec: {} }, 'metadata.name "a/b" is not a name'],
    [
      'whose namespace is none',
      { metadata: { name: 'a', namespace: 'b.c' }, spec: {} },
      'metadata.namespace "b.c" is not the name of a namespace',
    ],
  ])('%s', (_, object, problem) => {
    const { event, problems } = decodeObject({ ...TYPE, ...object });
    expect(event).toBeUndefined();
    expect(problems.map(problemText)).toEqual([expect.stringContaining(problem)]);
    expect(problems[0]!.effect).toMatch(/^the policy is not applied; .* last good version stays in force$/);
  });
});

test.each<[string, unknown, string, object]>([
  ['is a list', [], 'spec.podSelector must be a map', []],
  ['is text', 'all of them', 'spec.podSelector must be a map', []],
  [
    'has an unknown key beside one that can be read',
    { matchLabel: { a: 'b' }, matchLabels: { c: 'd' } },
    'spec.podSelector.matchLabel is not a known field (did you mean matchLabels?)',
    [{ key: 'c', operator: 'In', values: ['d'] }],
  ],
])(
  'N59, N68: a policy whose subject %s isolates whoever it may mean',
  (_, podSelector, problem, requirements) => {
    const { event, problems } = decode({ podSelector, ingress: [{}] });
    expect((event!.value as Policy).subject.pods).toEqual({ requirements, unreadable: true });
    expect(problems.map(problemText)).toEqual([expect.stringContaining(problem)]);
    expect(problems[0]!.effect).toMatch(/^until it is fixed, the policy isolates every pod that the rest/);
  },
);

test.each([{}, { spec: null }])(
  'N5: a policy without a spec is one with an empty one, and says so: %j',
  without => {
    const metadata = { name: 'web', namespace: 'shop' };
    const decoded = decodeObject({ ...TYPE, metadata, ...without });
    expect(decoded.event).toEqual(decodeObject({ ...TYPE, metadata, spec: {} }).event);
    expect(policyText(decoded)).toBe('in[]');
    expect(decoded.problems.map(problemText)).toEqual([
      'NetworkPolicy shop/web: spec is missing; the policy isolates every pod of its namespace for ingress',
    ]);
  },
);

test('decodeNetworkPolicy() reports a key beside spec, and status, managedFields and annotations are fine', () => {
  const metadata = { name: 'web', managedFields: [{ manager: 'x' }], annotations: { a: 'b' } };
  const { problems } = decodeObject({ ...TYPE, metadata, spec: {}, status: { x: 1 }, specs: {} });
  expect(problems.map(problemText)).toEqual([
    'NetworkPolicy default/web: specs is not a known field (did you mean spec?); the key is ignored',
  ]);
});

const TYPE = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' };

function decode(spec: object): Decoded {
  return decodeObject({ ...TYPE, metadata: { name: 'web', namespace: 'shop' }, spec });
}

function from(...peers: object[]) {
  return { ingress: [{ from: peers }] };
}

function ports(...entries: object[]) {
  return { ingress: [{ ports: entries }] };
}

function policyText({ event }: Decoded): string {
  const { ingress, egress } = event!.value as Policy;
  return [ingress && `in[${rulesText(ingress)}]`, egress && `eg[${rulesText(egress)}]`]
    .filter(text => text !== undefined)
    .join(' ');
}

test('a subject of very many values is not read: nobody knows which pods of the namespace it means (N68)', () => {
  const values = Array.from({ length: 1_001 }, (_, i) => `v${i}`);
  const podSelector = { matchExpressions: [{ key: 'app', operator: 'In', values }] };
  const metadata = { namespace: 'shop', name: 'x' };
  const object = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata,
    spec: { podSelector },
  };
  const { event, problems } = decodeObject(object);
  expect((event!.value as Policy).subject.pods).toEqual({ requirements: [], unreadable: true });
  expect(problems).toMatchObject([
    {
      severity: 'error',
      field: 'spec.podSelector',
      message: 'has more than 1000 requirements and values, and 1000 are the most',
    },
  ]);
});
