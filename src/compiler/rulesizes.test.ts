import { describe, expect, test } from 'vitest';
import { type Address, type Family, parseAddress, parseCidr } from '../model/address.ts';
import { ClusterState, type Pod } from '../model/cluster.ts';
import type { Direction, Policy, Rule } from '../model/policy.ts';
import { fitsRule, MAX_EXPRESSIONS } from '../nft/limits.ts';
import { destinationPort, verdict } from '../nft/match.ts';
import type { Table } from '../nft/ruleset.ts';
import { Builder } from './builder.ts';
import { compile } from './compile.ts';

/** Networks with as many exceptions, which take three expressions each, beside a range of ports. */
function rule(family: Family, exceptions: number): Rule {
  const text = (i: number) => (family === 'ip' ? `10.0.${i}.0/24` : `fd00:${i}::/32`);
  const cidr = parseCidr(family === 'ip' ? '10.0.0.0/8' : 'fd00::/8')!;
  const except = Array.from({ length: exceptions }, (_, i) => parseCidr(text(i + 1))!);
  const ports = [{ kind: 'range', protocol: 'TCP', first: 1000, last: 2000 } as const];
  return { path: 'egress[0]', action: 'accept', peers: [{ kind: 'network', cidr, except }], ports };
}

function policy(name: string, app: string, rules: Partial<Record<Direction, readonly Rule[]>>): Policy {
  const pods = { requirements: app === '' ? [] : [{ key: 'app', operator: 'In' as const, values: [app] }] };
  const subject = { namespaces: { kind: 'name' as const, name: 'shop' }, pods };
  return {
    id: `NetworkPolicy shop/${name}`,
    kind: 'NetworkPolicy',
    name: `shop/${name}`,
    tier: 'networkpolicy',
    order: 0,
    subject,
    ...rules,
  };
}

function pod(name: string, address: string): Pod {
  return {
    key: `shop/${name}`,
    namespace: 'shop',
    name,
    labels: { app: name },
    node: 'n1',
    addresses: [parseAddress(address) as Address],
    hostNetwork: false,
    finished: false,
    createdAt: '',
    ports: [],
  };
}

function tableOf(family: Family, ...policies: readonly Policy[]): Table {
  const cluster = new ClusterState();
  for (const value of [pod('web', '10.244.0.1'), pod('api', '10.244.0.2')])
    cluster.apply({ type: 'pod', key: value.key, value });
  for (const value of policies) cluster.apply({ type: 'policy', key: value.id, value });
  return compile(cluster, 'n1').tables.get(family)!;
}

describe.each(['ip', 'ip6'] as const)('compile() in %s', family => {
  test.each(Array.from({ length: 130 }, (_, n) => n))(
    'makes rules that fit of %i exceptions beside ports',
    n => {
      const { chains } = tableOf(family, policy('x', '', { egress: [rule(family, n)] }));
      const rules = [...chains.values()].flatMap(({ rules }) => rules);
      expect(rules.filter(({ exprs }) => !fitsRule(exprs))).toEqual([]);
      expect(rules.filter(({ comment }) => comment?.includes('too long'))).toEqual([]);
    },
  );
});

test('Builder makes a chain deny of which a rule would be too long for the kernel', () => {
  const builder = new Builder('ip');
  const tooLong = Array.from({ length: MAX_EXPRESSIONS }, () => destinationPort(80, 80)).flat();
  builder.addChain({
    name: 'x',
    rules: [{ exprs: [verdict('accept')] }, { exprs: [...tooLong, verdict('accept')] }],
  });
  expect(builder.chains.get('x')!.rules).toEqual([
    { exprs: [verdict('goto', 'denied')], comment: 'a rule is too long for the kernel' },
  ]);
});

test('what a large policy says is there once, whatever the number of classes of the pods that it selects', () => {
  const ports = Array.from(
    { length: 300 },
    (_, i) => ({ kind: 'range', protocol: 'TCP', first: 2 * i + 1, last: 2 * i + 1 }) as const,
  );
  const large = policy('large', '', {
    egress: [{ path: 'egress[0]', action: 'accept', peers: 'any', ports }],
  });
  const own = ['web', 'api'].map(app => policy(app, app, { egress: [rule('ip', 0)] }));
  const { sets, chains } = tableOf('ip', large, ...own);
  expect([...sets.values()].filter(({ elements }) => elements.size >= 300)).toHaveLength(1);
  expect([...chains.keys()].filter(name => name.startsWith('eg-'))).toHaveLength(2);
});
