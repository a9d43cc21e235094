import { expect, test } from 'vitest';
import { ClusterState } from '../model/cluster.ts';
import type { LastingStatus } from '../model/policystatus.ts';
import type { Op } from '../nft/plan/op.ts';
import { commitLog } from './commitlog.ts';
import type { Committed } from './committed.ts';

const SETS: readonly Op[] = [{ op: 'addTable', family: 'ip' }];

/** A log, and what is written to it, level first. */
function logged() {
  const said: string[] = [];
  const at = (level: string) => (_: object, message: string) => void said.push(`${level} ${message}`);
  return { said, log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } };
}

/** The log lines of a commit, each with its level first. */
function lines(committed: Partial<Committed>): string[] {
  const { said, log } = logged();
  commitLog(log).committed!({
    cause: 'change',
    names: [],
    ops: [],
    unknownBefore: false,
    dumped: false,
    tookMs: 1,
    cluster: new ClusterState(),
    waitingPods: new Map(),
    isolating: new Set(),
    ruleset: { tables: new Map() },
    ...committed,
  });
  return said;
}

test.each<[string, Partial<Committed>, string[]]>([
  ['a look that finds all as it was', { cause: 'look' }, []],
  ['a look that finds something else', { cause: 'look', ops: SETS }, ['info rules repaired']],
  ['a change', { names: ['Pod shop/web'], ops: SETS }, ['info rules follow Pod shop/web']],
  [
    'a change that means nothing here',
    { names: ['Pod shop/web'] },
    ['debug nothing to change for Pod shop/web'],
  ],
  ['a flush that makes ready, and has nothing to write yet', {}, []],
  ['sets that are made ready', { ops: SETS }, ['debug rules follow what takes turns, or is made ready']],
  ['what a failure left', { ops: SETS, unknownBefore: true }, ['info rules repaired']],
  ['the first round', { cause: 'start' }, ['info rules in force: those in the kernel were right']],
])('commitLog() of %s', (_, committed, said) => expect(lines(committed)).toEqual(said));

test('commitLog() has one line for all policies that are not in force as written, whenever they are others', () => {
  const { said, log } = logged();
  const { policyStatuses } = commitLog(log);
  const held = (n: number): LastingStatus => ({ id: `NetworkPolicy a/${n}`, kind: 'held', reason: 'x' });
  const closed: LastingStatus = { id: 'ClusterNetworkPolicy all', kind: 'closed', reason: 'x' };
  policyStatuses!([closed, held(1), held(2), held(3), held(4)]);
  policyStatuses!([held(1), held(2), held(3), held(4), closed]);
  policyStatuses!([]);
  policyStatuses!([]);
  expect(said).toEqual([
    'info policies that are not in force as written: 4 held (NetworkPolicy a/1, NetworkPolicy a/2, NetworkPolicy a/3 and 1 more), 1 closed (ClusterNetworkPolicy all)',
    'info no policy is over-budget, held, closed, uncertain or audited any more',
  ]);
});

test('commitLog() names the first policies that come into quarantine or leave it, and counts the others', () => {
  const { said, log } = logged();
  const { policyStatuses } = commitLog(log);
  const quarantined = (n: number, detail = 'EINVAL'): LastingStatus => ({
    id: `NetworkPolicy a/${n}`,
    kind: 'quarantined',
    reason: 'refused',
    detail,
    keepsLastVersion: true,
  });
  const all = Array.from({ length: 10_000 }, (_, n) => quarantined(n));
  policyStatuses!(all);
  expect(said).toHaveLength(21);
  expect(said.at(-1)).toBe('error quarantine: 9980 more policies have come into it');
  policyStatuses!([...all.slice(1), quarantined(0, 'ERANGE')]);
  expect(said.slice(21)).toEqual([expect.stringMatching(/^error quarantine: NetworkPolicy a\/0: .*ERANGE/)]);
  policyStatuses!([]);
  expect(said).toHaveLength(22 + 21);
  expect(said.at(-1)).toBe('info quarantine: 9980 more policies have left it');
});
