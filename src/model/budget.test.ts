import { expect, test } from 'vitest';
import { parseCidr } from './address.ts';
import { BUDGET, excessOf } from './budget.ts';
import type { Peer, Policy, PortMatch, Rule } from './policy.ts';

const times = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i));

const network = (text = '10.0.0.0/8', except: readonly string[] = []): Peer => ({
  kind: 'network',
  cidr: parseCidr(text)!,
  except: except.map(one => parseCidr(one)!),
});

const pods = (app: string): Peer => ({
  kind: 'pods',
  selector: {
    namespaces: { kind: 'name', name: 'shop' },
    pods: { requirements: [{ key: 'app', operator: 'In', values: [app] }] },
  },
});

const port = (first: number, last = first): PortMatch => ({ kind: 'range', protocol: 'TCP', first, last });

const rule = (peers: Rule['peers'], ports: Rule['ports'] = 'any'): Rule => ({
  path: 'ingress[0]',
  action: 'accept',
  peers,
  ports,
});

function policy(ingress: readonly Rule[], kind: Policy['kind'] = 'NetworkPolicy'): Policy {
  const subject = { namespaces: { kind: 'name' as const, name: 'shop' }, pods: { requirements: [] } };
  const tier = kind === 'NetworkPolicy' ? 'networkpolicy' : 'admin';
  return { id: `${kind} shop/x`, kind, name: 'shop/x', tier, order: 0, subject, ingress };
}

const { entries, rules, selectors, ranges } = BUDGET.namespaced;

/** For each limit: the largest rules within the budget, the smallest beyond it, and the message about those. */
const LIMITS: Record<string, readonly [readonly Rule[], readonly Rule[], string]> = {
  entries: [
    [rule(times(entries - 1, () => network()))],
    [rule(times(entries, () => network()))],
    'has 5001 entries (rules, peers, exceptions, ports and values of selectors), and 5000 are the most',
  ],
  'networks of IPv6, which count twice': [
    [rule(times(2_499, () => network('fd00::/8')))],
    [rule(times(2_500, () => network('fd00::/8')))],
    'has 5001 entries',
  ],
  rules: [
    times(rules, () => rule('any')),
    times(rules + 1, () => rule('any')),
    'has 1001 rules, and 1000 are the most',
  ],
  selectors: [
    [rule(times(selectors, i => pods(`a${i}`))), rule([pods('a0')])],
    [rule(times(selectors + 1, i => pods(`a${i}`)))],
    'has 251 different selectors of peers in one direction, and 250 are the most',
  ],
  'rules of many ports and many peers': [
    times(4, i => manyPairs(i)),
    times(5, i => manyPairs(i)),
    'has 5 rules of more than 256 pairs of a port and a peer each, and 4 are the most',
  ],
  ranges: [
    [
      rule(
        'any',
        times(ranges, i => port(1 + 3 * i, 2 + 3 * i)),
      ),
    ],
    [
      rule(
        'any',
        times(ranges + 1, i => port(1 + 3 * i, 2 + 3 * i)),
      ),
    ],
    'has 1001 port ranges in one direction, and 1000 are the most',
  ],
  'ranges within ranges': [
    times(100, i => rule('any', [port(1 + i, 60_000 - i)])),
    times(101, i => rule('any', [port(1 + i, 60_000 - i)])),
    'has port ranges that overlap in 10201 places, and 10000 are the most',
  ],
};

function manyPairs(i: number): Rule {
  return rule(
    times(80, j => network(`10.${i}.${j}.0/24`)),
    times(80, j => port(1000 * i + 2 * j + 1)),
  );
}

test.each(Object.entries(LIMITS))(
  'excessOf() finds what is beyond the budget, and nothing within: %s',
  (_, [within, beyond, said]) => {
    expect(excessOf(policy(within))).toBeUndefined();
    expect(excessOf(policy(beyond))).toContain(said);
  },
);

test('excessOf() lets a rule of very many pairs be, where it is alone', () => {
  const one = rule(
    times(2_000, () => network()),
    times(2_000, i => port(2 * i + 1)),
  );
  expect(excessOf(policy([one]))).toBeUndefined();
});

test('excessOf() asks less of policies of the cluster', () => {
  const large = [rule(times(entries + 1, () => network()))];
  expect(excessOf(policy(large, 'ClusterNetworkPolicy'))).toBeUndefined();
  expect(excessOf(policy([rule(times(20_000, () => network()))], 'ClusterNetworkPolicy'))).toContain(
    '20000 are the most',
  );
});
