/**
 * What the API server makes of policies, odd ones and those of all scenarios, against what we do: what it takes
 * means to us the same before and after it filled in its defaults, and what it refuses we find a problem with.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { decodeObject } from '../../../src/inputs/kube/decode/decode.ts';
import { collection, type Manifest } from './api.ts';
import { definition, networkPolicy, servedAs } from './objects.ts';
import { Storm } from './storm.ts';

const SCENARIOS = join(import.meta.dirname, '../../scenarios');
const FIXTURES = join(import.meta.dirname, '../../fixtures');

const VERSIONS = ['v1alpha2', 'v1beta1'];

let storm: Storm;

beforeAll(async () => {
  storm = await Storm.begin();
  const cluster = servedAs(definition('clusternetworkpolicies'), VERSIONS, VERSIONS);
  for (const object of [
    cluster,
    definition('adminnetworkpolicies'),
    definition('baselineadminnetworkpolicies'),
  ]) {
    await storm.api.apply(object);
    await storm.api.established(object);
  }
});

afterAll(() => storm?.end());

const ODD_SPECS: Readonly<Record<string, unknown>> = {
  'no spec': undefined,
  'spec null': null,
  'an empty spec': {},
  'podSelector null': { podSelector: null, ingress: [{}] },
  'no podSelector': { ingress: [{}] },
  'policyTypes null': { podSelector: {}, policyTypes: null, egress: [{}] },
  'policyTypes empty': { podSelector: {}, policyTypes: [], egress: [{}] },
  'ingress null': { podSelector: {}, ingress: null },
  'an ingress rule null': { podSelector: {}, ingress: [null] },
  'from null': { podSelector: {}, ingress: [{ from: null, ports: null }] },
  'a peer null': { podSelector: {}, ingress: [{ from: [null] }] },
  'an empty peer': { podSelector: {}, ingress: [{ from: [{}] }] },
  'a port null': { podSelector: {}, ingress: [{ ports: [null] }] },
  'an empty port': { podSelector: {}, ingress: [{ ports: [{}] }] },
  'protocol empty text': { podSelector: {}, ingress: [{ ports: [{ protocol: '', port: 80 }] }] },
  'port 0': { podSelector: {}, ingress: [{ ports: [{ port: 0 }] }] },
  'port as text': { podSelector: {}, ingress: [{ ports: [{ port: '80' }] }] },
  'endPort 0': { podSelector: {}, ingress: [{ ports: [{ port: 80, endPort: 0 }] }] },
  'host bits': { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: '10.1.2.3/8' } }] }] },
  'leading zeros': { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: '010.0.0.0/8' } }] }] },
  'an IPv4-mapped network': {
    podSelector: {},
    ingress: [{ from: [{ ipBlock: { cidr: '::ffff:10.0.0.0/104' } }] }],
  },
  'all addresses but all': {
    podSelector: {},
    ingress: [{ from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.0.0.0/8'] } }] }],
  },
  'except null': {
    podSelector: {},
    ingress: [{ from: [{ ipBlock: { cidr: '10.0.0.0/8', except: null } }] }],
  },
  'except of the other family': {
    podSelector: {},
    ingress: [{ from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['fd00::/8'] } }] }],
  },
  'a label null': { podSelector: { matchLabels: { app: null } } },
  'matchExpressions null': { podSelector: { matchExpressions: null } },
  'In without values': { podSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } },
  'Exists with values': {
    podSelector: { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] },
  },
  'a key that is none': { podSelector: { matchLabels: { '-a-': 'b' } } },
  'a value that is none': { podSelector: { matchLabels: { a: '-b-' } } },
  'Egress twice': { podSelector: {}, policyTypes: ['Egress', 'Egress'] },
  'an unknown type': { podSelector: {}, policyTypes: ['Sideways'] },
};

const odd = Object.entries(ODD_SPECS).map(([title, spec]) => {
  const { spec: _, ...bare } = networkPolicy('probe/odd', {});
  return { title, object: { ...bare, ...(spec !== undefined && { spec }) } as Manifest };
});

/** Every policy that a scenario knows, once, in a namespace that is there. */
const known = [...policiesOf(SCENARIOS), ...policiesOf(FIXTURES)].map(inProbe);
const scenarios = [...new Map(known.map(object => [JSON.stringify(object), object])).values()];

/** Where we are stricter: from a file, nothing written is no rule that allows everything. */
const CLOSED_BY_US = ['an ingress rule null', 'a port null'];

/** What no schema of the server checks, and nobody could follow. */
const TAKEN_BUT_UNREADABLE = [
  /domainNames can only be accepted/,
  /operator must be In or NotIn or Exists or DoesNotExist/,
  /values must name a value/,
];

/** What servers took before, or may take one day, and what says clearly what it means. */
const REFUSED_BUT_READABLE = [
  /must not have bits set beyond the prefix length/,
  /must not have leading 0s/,
  /must not have an IPv4-mapped IPv6 address/,
  /must have at most 25 items/,
  /protocols in body should have at least 1 items/,
  /peer cannot be set with namedPorts/,
  /Only one baseline admin network policy/,
];

describe('the server and we agree', () => {
  test.each(odd)('about $title', async ({ title, object }) => {
    const { taken, sameMeaning, problems } = await compare(object);
    if (CLOSED_BY_US.includes(title))
      expect({ taken, sameMeaning }).toEqual({ taken: true, sameMeaning: false });
    else if (taken) expect({ sameMeaning, problems }).toEqual({ sameMeaning: true, problems: [] });
    else expect(REFUSED_ODDLY.includes(title) || problems.length > 0).toBe(true);
  });

  test('about every policy of the scenarios', async () => {
    const differences: string[] = [];
    let takenByServer = 0;
    for (const object of scenarios) {
      const { taken, sameMeaning, problems, refusal } = await compare(object);
      if (taken) takenByServer++;
      const isKnown = taken
        ? sameMeaning && problems.every(text => TAKEN_BUT_UNREADABLE.some(known => known.test(text)))
        : problems.length > 0 || REFUSED_BUT_READABLE.some(known => known.test(refusal));
      if (!isKnown)
        differences.push(
          `${JSON.stringify(object)}: ${JSON.stringify({ taken, sameMeaning, problems, refusal })}`,
        );
    }
    expect(differences).toEqual([]);
    expect(takenByServer).toBeGreaterThan(300);
  });
});

const REFUSED_ODDLY = ['host bits', 'leading zeros', 'an IPv4-mapped network'];

interface Comparison {
  readonly taken: boolean;
  /** Whether it means the same to us as it was sent and as it would be stored. */
  readonly sameMeaning: boolean;
  /** Ours with it as it was sent. */
  readonly problems: readonly string[];
  /** The server's words. */
  readonly refusal: string;
}

async function compare(object: Manifest): Promise<Comparison> {
  const path = `${collection(object)}?dryRun=All&fieldValidation=Strict`;
  const { code, body } = await storm.api.try('POST', path, object);
  const ours = decodeObject(object);
  const errors = ours.problems.filter(({ severity }) => severity === 'error');
  return {
    taken: code < 300,
    sameMeaning: JSON.stringify(ours.event) === JSON.stringify(decodeObject(body).event),
    problems: errors.map(({ field, message }) => `${field} ${message}`),
    refusal: code < 300 ? '' : (body as { message: string }).message,
  };
}

function policiesOf(folder: string): Manifest[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.yaml'))
    .flatMap(file => parseAllDocuments(readFileSync(join(folder, file), 'utf8')))
    .flatMap(document => policiesIn(document.toJS()));
}

function policiesIn(value: unknown): Manifest[] {
  if (typeof value !== 'object' || value === null) return [];
  const { kind, apiVersion } = value as Partial<Manifest>;
  const isPolicy = typeof apiVersion === 'string' && typeof kind === 'string' && kind.endsWith('Policy');
  return isPolicy ? [value as Manifest] : Object.values(value).flatMap(policiesIn);
}

function inProbe(policy: Manifest): Manifest {
  if (policy.kind !== 'NetworkPolicy') return policy;
  return { ...policy, metadata: { ...policy.metadata, namespace: 'probe' } };
}
