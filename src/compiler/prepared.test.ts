import { expect, test } from 'vitest';
import { addressIn } from '../nft/match.ts';
import { plan } from '../nft/plan/plan.ts';
import {
  type BaseHook,
  type Chain,
  MEMBER,
  type NftRule,
  type NftSet,
  type Ruleset,
} from '../nft/ruleset.ts';
import { hashedName } from './names.ts';
import { withPrepared } from './prepared.ts';

const name = (prefix: string, meaning: string) => hashedName(prefix, meaning);
const PEERS = name('peers', 'a');
const CLASS = name('in', 'shop');

const lookUp = (set: string): NftRule => ({ exprs: addressIn('ip', 'saddr', set) });
const jump = (chain: string): NftRule => ({ exprs: [{ kind: 'verdict', verdict: { kind: 'jump', chain } }] });

function set(of: string): NftSet {
  const elements = new Map([['10.0.0.1', MEMBER]]);
  return { name: of, key: ['ipv4_addr'], verdicts: false, interval: false, elements };
}

/** A verdict map with one element, which leads to the chain. */
function mapTo(of: string, chain: string): NftSet {
  const elements = new Map([['10.0.0.1', { verdict: { kind: 'jump', chain } as const }]]);
  return { name: of, key: ['ipv4_addr'], verdicts: true, interval: false, elements };
}

/** A ruleset of one table, whose one base chain has these rules. */
function ruleset(
  rules: readonly NftRule[],
  chains: Readonly<Record<string, readonly NftRule[]>>,
  sets: readonly NftSet[],
): Ruleset {
  const hook: BaseHook = { hook: 'forward', priority: 0, policy: 'accept' };
  const base: Chain = { name: 'forward', hook, rules };
  const others = Object.entries(chains).map(([of, its]): Chain => ({ name: of, rules: its }));
  const byName = <T extends { name: string }>(list: readonly T[]) =>
    new Map(list.map(one => [one.name, one]));
  return { tables: new Map([['ip', { chains: byName([base, ...others]), sets: byName(sets) }]]) };
}

const DESIRED = ruleset([lookUp(PEERS)], {}, [set(PEERS)]);
const difference = (programmed: Ruleset) => plan(programmed, withPrepared(DESIRED, programmed));

test('what classes need, and nothing that packets come to leads to, is no difference', () => {
  const [others, ports, from] = [name('others', 'b'), `${CLASS}-ports`, name('from', 'c')];
  const chains = { [CLASS]: [lookUp(others), lookUp(ports)], [from]: [] };
  const sets = [set(PEERS), set(others), mapTo(ports, from), set(name('peers', 'd'))];
  expect(difference(ruleset([lookUp(PEERS)], chains, sets))).toEqual([]);
});

test.each([
  [
    'a set that a rule in force names',
    ruleset([lookUp(name('peers', 'b'))], {}, [set(PEERS), set(name('peers', 'b'))]),
    'delSet',
  ],
  ['a chain that one jumps to', ruleset([jump(CLASS)], { [CLASS]: [] }, [set(PEERS)]), 'delChain'],
  [
    'one that a map leads to',
    ruleset([lookUp('pods')], { [CLASS]: [] }, [set(PEERS), mapTo('pods', CLASS)]),
    'delChain',
  ],
  ['what is not named after its meaning', ruleset([lookUp(PEERS)], { mine: [] }, [set(PEERS)]), 'delChain'],
  ['what is missing', ruleset([], {}, []), 'addSet'],
])('%s is one', (_, programmed, op) => {
  expect(difference(programmed).map(step => step.op)).toContain(op);
});
