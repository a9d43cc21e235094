/**
 * An address that moves from one denied set to another is always in at least one of them, whatever the order in which
 * packets look them up.
 */
import { expect, test } from 'vitest';
import { FakeKernel } from '../../test/support/kernel/fake.ts';
import { nodeEvent, shopPod } from '../../test/support/scenarios/shop.ts';
import { compile } from '../compiler/compile.ts';
import { parseAddress } from '../model/address.ts';
import { type ClusterEvent, ClusterState, NAMESPACE_NAME_LABEL } from '../model/cluster.ts';
import type { Policy, Rule } from '../model/policy.ts';
import { EVERYTHING, type PodSelector } from '../model/selector.ts';
import type { Op } from '../nft/plan/op.ts';
import { plan } from '../nft/plan/plan.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import { packet } from '../nft/trace/packet.ts';
import { trace } from '../nft/trace/trace.ts';
import { denialsFirst } from './denialsfirst.ts';
import { KernelState } from './kernelstate.ts';

const [SERVER, MOVING, OTHER] = ['10.1.0.1', '10.2.0.1', '10.2.0.2'].map(text => parseAddress(text)!);

const withRole = (role: string): PodSelector => ({
  namespaces: { kind: 'name', name: 'shop' },
  pods: { requirements: [{ key: 'app', operator: 'In', values: [role] }] },
});

function rule(index: number, action: Rule['action'], ...roles: string[]): Rule {
  const peers = roles.map(role => ({ kind: 'pods', selector: withRole(role) }) as const);
  return { path: `ingress[${index}]`, action, peers, ports: 'any' };
}

function policy(...rules: Rule[]): ClusterEvent {
  const value: Policy = {
    id: 'ClusterNetworkPolicy tiers',
    kind: 'ClusterNetworkPolicy',
    name: 'tiers',
    tier: 'admin',
    order: 0,
    subject: { namespaces: { kind: 'labels', selector: EVERYTHING }, pods: EVERYTHING },
    ingress: rules,
  };
  return { type: 'policy', key: value.id, value };
}

/** `shop/NAME` at that address of another node. */
function remote(role: string, address: string): ClusterEvent {
  return shopPod(`shop/${role}`, 'n2', [address]);
}

function rulesOf(rules: readonly Rule[], ...pods: ClusterEvent[]): Ruleset {
  const state = new ClusterState();
  const namespace: ClusterEvent = {
    type: 'namespace',
    key: 'shop',
    value: { name: 'shop', labels: { [NAMESPACE_NAME_LABEL]: 'shop' } },
  };
  const cast = [nodeEvent('n1', []), nodeEvent('n2', []), namespace, shopPod('shop/server', 'n1', [SERVER!])];
  for (const event of [...cast, ...pods, policy(...rules)]) state.apply(event);
  return compile(state, 'n1');
}

const DENIALS = [rule(0, 'deny', 'a'), rule(1, 'accept', 'c'), rule(2, 'deny', 'b')];

/** The states that packets meet on the way. */
async function statesBetween(before: Ruleset, after: Ruleset): Promise<readonly Ruleset[]> {
  const fake = new FakeKernel({ owners: true });
  const states: Ruleset[] = [];
  const commit = fake.commit.bind(fake);
  fake.commit = async (ops: readonly Op[], expected) => {
    const generation = await commit(ops, expected);
    states.push((await fake.dump()).ruleset);
    return generation;
  };
  const state = new KernelState({ open: async () => fake, onDrift: () => undefined, now: () => 0 });
  await state.reconcile(() => before, 'dump');
  states.length = 0;
  await state.reconcile(() => after, 'cached');
  return states;
}

const verdictOf = (ruleset: Ruleset, from = MOVING!) =>
  trace(ruleset, 'ip', 'forward', packet({ from, to: SERVER!, protocol: 'TCP', port: 80 }), 'new').verdict;

const holding = ({ tables }: Ruleset, address: string) =>
  [...tables.get('ip')!.sets.values()]
    .filter(({ name, elements }) => name.startsWith('peers-') && elements.has(address))
    .map(({ name }) => name);

test.each([
  ['a', 'b'],
  ['b', 'a'],
])('an address that is denied as %s joins those that are denied as %s before it leaves', async (was, is) => {
  const [before, after] = [rulesOf(DENIALS, remote(was, MOVING!)), rulesOf(DENIALS, remote(is, MOVING!))];
  const [between, last, ...more] = await statesBetween(before, after);
  expect(more).toEqual([]);
  expect(new Set(holding(between!, MOVING!))).toEqual(
    new Set([...holding(before, MOVING!), ...holding(after, MOVING!)]),
  );
  expect([before, between!, last!].map(state => verdictOf(state))).toEqual(['drop', 'drop', 'drop']);
  expect(plan(last!, after)).toEqual([]);
});

test.each([
  ['one goes and another comes', [remote('a', MOVING!)], [remote('b', OTHER!)]],
  ['who moves is allowed by it', [remote('a', MOVING!)], [remote('c', MOVING!)]],
  ['who moves was allowed', [remote('c', MOVING!)], [remote('b', MOVING!)]],
])('one batch changes all where %s', (_, was, is) => {
  const [before, after] = [rulesOf(DENIALS, ...was), rulesOf(DENIALS, ...is)];
  const ops = plan(before, after);
  expect(denialsFirst(ops, before, after)).toEqual([ops]);
});

test('who moves with others goes ahead by itself', () => {
  const before = rulesOf(DENIALS, remote('a', MOVING!), remote('c', OTHER!));
  const after = rulesOf(DENIALS, remote('b', MOVING!));
  const [ahead, then] = denialsFirst(plan(before, after), before, after);
  expect(ahead).toMatchObject([{ op: 'addElements', elements: [[MOVING, {}]] }]);
  expect(then!.filter(({ op }) => op === 'addElements')).toEqual([]);
  expect(then!.filter(({ op }) => op === 'delElements')).toHaveLength(2);
});
