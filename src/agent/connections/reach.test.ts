import { expect, test } from 'vitest';
import { nodeEvent, shopPod, shopPolicy } from '../../../test/support/scenarios/shop.ts';
import { compile } from '../../compiler/compile.ts';
import { ClusterState } from '../../model/cluster.ts';
import { addressVmap, verdict } from '../../nft/match.ts';
import type { Chain, Table } from '../../nft/ruleset.ts';
import { podsReaching } from './tightening.ts';

function tableWith(...chains: readonly Chain[]): Table {
  const state = new ClusterState();
  for (const event of [
    nodeEvent('n1', ['172.18.0.1']),
    shopPod('shop/db', 'n1', ['10.1.0.1']),
    shopPod('shop/web', 'n1', ['10.1.0.2']),
    shopPolicy('db', { podSelector: { matchLabels: { app: 'db' } }, policyTypes: ['Ingress', 'Egress'] }),
  ])
    state.apply(event);
  const table = compile(state, 'n1').tables.get('ip')!;
  const all = [...table.chains.values(), ...chains].map((chain): [string, Chain] => [chain.name, chain]);
  return { ...table, chains: new Map(all) };
}

const classNames = (table: Table) => [...table.chains.keys()].filter(name => /^(in|eg)-/.test(name));

test('a class is reached by its pods', () => {
  const table = tableWith();
  expect(classNames(table)).toHaveLength(2);
  for (const name of classNames(table)) expect(podsReaching(new Set([name]), table)).toEqual(['10.1.0.1']);
});

test('what the hooks ask before they look up the pod is reached by nobody', () => {
  const before: Chain = { name: 'before', rules: [{ exprs: addressVmap('ip', 'saddr', 'egress-pods') }] };
  const plain = tableWith().chains.get('forward')!;
  const forward: Chain = { ...plain, rules: [...plain.rules, { exprs: [verdict('goto', 'before')] }] };
  const table = tableWith(forward, before);
  for (const name of ['forward', 'input', 'ingress', 'before'])
    expect(podsReaching(new Set([name]), table)).toEqual([]);
});
