import { expect, test } from 'vitest';
import { ClusterState } from '../model/cluster.ts';
import type { Op } from '../nft/plan/op.ts';
import { commitLog } from './commitlog.ts';
import type { Committed } from './committed.ts';

const SETS: readonly Op[] = [{ op: 'addTable', family: 'ip' }];

/** The log lines of a commit, each with its level first. */
function lines(committed: Partial<Committed>): string[] {
  const said: string[] = [];
  const at = (level: string) => (_: object, message: string) => void said.push(`${level} ${message}`);
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
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
