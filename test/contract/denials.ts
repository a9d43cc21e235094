/** What the chain of denied packets is made of: counters, limits, logs, and a set that packets fill. */
import { expect } from 'vitest';
import { MAX_PREFIX_BYTES } from '../../src/nft/limits.ts';
import { limitOver, loadSource, logTo, update, verdict } from '../../src/nft/match.ts';
import { changeDestination } from '../../src/nft/matchanswers.ts';
import type { Op } from '../../src/nft/plan/op.ts';
import type { Expr, Family, SetSpec } from '../../src/nft/ruleset.ts';
import {
  actualState,
  addChain,
  addRule,
  addSet,
  addTable,
  delSet,
  PEERS,
  type PromiseOf,
  refused,
} from './steps.ts';

const SOURCES: SetSpec = {
  name: 'sources',
  key: ['ipv4_addr'],
  verdicts: false,
  interval: false,
  dynamic: { size: 64, timeoutMs: 10_000 },
};
const RATE = { perSecond: 5, burst: 20 };
const LOG = logTo({ group: 7, prefix: 'denied: ', snaplen: 128 });

export function denials(promise: PromiseOf): void {
  for (const family of ['ip', 'ip6'] as const)
    promise(`logs, limits and sets with a limit come back as they went in, in ${family}`, async kernel => {
      const rules = rulesOf(family);
      await kernel.commit([
        addTable(family),
        addSet(sourcesOf(family), 64, family),
        addChain('c', family),
        ...rules.map((exprs): Op => ({ op: 'addRule', family, chain: 'c', rule: { exprs } })),
      ]);
      const { sets, chains } = (await actualState(kernel)).tables.get(family)!;
      expect(chains.get('c')!.rules).toEqual(rules.map(exprs => ({ exprs })));
      expect(sets.get('sources')!.dynamic).toEqual(SOURCES.dynamic);
    });

  promise('a log has a prefix as long as the kernel keeps one, and no longer: ERANGE', async kernel => {
    const log = (bytes: number) =>
      addRule('c', [logTo({ group: 7, prefix: 'p'.repeat(bytes), snaplen: 64 })]);
    await kernel.commit([addTable(), addChain('c'), log(MAX_PREFIX_BYTES)]);
    await refused(kernel, 'ERANGE', [log(MAX_PREFIX_BYTES + 1)], 0);
  });

  promise('a limit of no packets a second is refused', async kernel => {
    await kernel.commit([addTable(), addChain('c')]);
    // EOVERFLOW before Linux 6.8.
    await refused(
      kernel,
      ['EINVAL', 'EOVERFLOW'],
      [addRule('c', [limitOver({ perSecond: 0, burst: 5 })])],
      0,
    );
  });

  promise('a set is put into with a limit only where packets may change it', async kernel => {
    await kernel.commit([addTable(), addSet(PEERS), addChain('c')]);
    const rule = addRule('c', [loadSource('ip'), update('peers', { over: RATE })]);
    await refused(kernel, 'EOPNOTSUPP', [rule], 0);
  });

  promise('a set that a rule puts into is in use', async kernel => {
    await kernel.commit([
      addTable(),
      addSet(SOURCES, 64),
      addChain('c'),
      addRule('c', [loadSource('ip'), update('sources', { over: RATE })]),
    ]);
    await refused(kernel, 'EBUSY', [delSet('sources')], 0);
  });

  promise('a log and a limit may be at every hook', async kernel => {
    const hooks = ['prerouting', 'input', 'forward', 'output', 'postrouting'] as const;
    await kernel.commit([
      addTable(),
      addSet(SOURCES, 64),
      addChain('denied'),
      ...rulesOf('ip').map(exprs => addRule('denied', exprs)),
      ...hooks.flatMap((hook): Op[] => [
        { op: 'addChain', family: 'ip', chain: hook, hook: { hook, priority: -300, policy: 'accept' } },
        addRule(hook, [verdict('goto', 'denied')]),
      ]),
    ]);
  });
}

function sourcesOf(family: Family): SetSpec {
  return { ...SOURCES, key: [family === 'ip' ? 'ipv4_addr' : 'ipv6_addr'] };
}

function rulesOf(family: Family): Expr[][] {
  return [
    [{ kind: 'counter' }],
    [loadSource(family), update('sources', { over: RATE }), verdict('drop')],
    [...changeDestination(family, { op: 'update', set: 'sources' })],
    [limitOver({ perSecond: 100, burst: 200 }), verdict('drop')],
    [{ kind: 'limit', perSecond: 3, burst: 1, over: false }, { kind: 'counter' }, LOG, verdict('drop')],
  ];
}
