import { expect } from 'vitest';
import {
  addressIn,
  addressPairIn,
  addressTypeIs,
  hopsLeft,
  masquerade,
  protocolPortVmap,
  redirectByPort,
  verdict,
} from '../../src/nft/match.ts';
import { interfaceGroupIs, noRouteBack } from '../../src/nft/matchinterface.ts';
import type { Op } from '../../src/nft/plan/op.ts';
import { type BaseHook, type Expr, type FibFlag, MEMBER, type SetSpec } from '../../src/nft/ruleset.ts';
import {
  actualState,
  addChain,
  addElements,
  addRule,
  addSet,
  addTable,
  delElements,
  type Entry,
  elementsOf,
  HOST_PORTS,
  PAIRS,
  PEERS,
  PODS,
  PORTS,
  type PromiseOf,
  refused,
  ruleset,
  set,
} from './steps.ts';

/** Maps to data, and what may stand at some hooks only. */
export function translation(promise: PromiseOf): void {
  const type = 'nat' as const;
  const PREROUTING: BaseHook = { type, hook: 'prerouting', priority: -99, policy: 'accept' };
  const OUTPUT: BaseHook = { type, hook: 'output', priority: -99, policy: 'accept' };
  const POSTROUTING: BaseHook = { type, hook: 'postrouting', priority: 100, policy: 'accept' };
  const at = (hook: BaseHook['hook']): BaseHook => ({ hook, priority: -300, policy: 'accept' });
  const base = (hook: BaseHook): Op => ({ op: 'addChain', family: 'ip', chain: 'base', hook });
  const entry: Entry = ['tcp . 80', { data: '10.0.0.5 . 8080', comment: 'shop/web' }];

  promise('nat chains and the rules of attached pods come back as they went in', async kernel => {
    const bases: readonly (readonly [string, BaseHook, readonly Expr[][]])[] = [
      [
        'source',
        at('prerouting'),
        [[...interfaceGroupIs('iifgroup', 29548), ...noRouteBack(), verdict('drop')]],
      ],
      ['ports', PREROUTING, [[...addressTypeIs('daddr', 'local'), ...redirectByPort('ip', 'host-ports')]]],
      ['own-ports', OUTPUT, [redirectByPort('ip', 'host-ports')]],
      ['leaving', POSTROUTING, [[...addressPairIn('ip', 'pairs'), masquerade()]]],
    ];
    await kernel.commit([
      addTable(),
      addSet(HOST_PORTS),
      addSet(PAIRS),
      addElements(HOST_PORTS, [entry]),
      addElements(PAIRS, ['10.0.0.5 . 10.0.0.5']),
      ...bases.flatMap(([name, hook, rules]) => [
        { op: 'addChain', family: 'ip', chain: name, hook } as const,
        ...rules.map(exprs => addRule(name, exprs)),
      ]),
    ]);
    expect(await actualState(kernel)).toEqual(
      ruleset({
        ip: {
          sets: [set(HOST_PORTS, [entry]), set(PAIRS, [['10.0.0.5 . 10.0.0.5', MEMBER]])],
          chains: bases.map(([name, hook, rules]) => ({
            name,
            hook,
            rules: rules.map(exprs => ({ exprs })),
          })),
        },
      }),
    );
  });

  promise('the same in ip6, whose addresses take four registers', async kernel => {
    const map: SetSpec = { ...HOST_PORTS, data: ['ipv6_addr', 'inet_service'] };
    const pairs: SetSpec = { ...PAIRS, key: ['ipv6_addr', 'ipv6_addr'] };
    const rules = [
      redirectByPort('ip6', map.name),
      addressPairIn('ip6', pairs.name),
      hopsLeft('ip6', 'neq', 255),
    ];
    const six: Entry = ['udp . 53', { data: 'fd00::5 . 5353' }];
    await kernel.commit([
      addTable('ip6'),
      addSet(map, 16, 'ip6'),
      addSet(pairs, 16, 'ip6'),
      addElements(map, [six], 'ip6'),
      addElements(pairs, ['fd00::5 . fd00::5'], 'ip6'),
      addChain('c', 'ip6'),
      ...rules.map((exprs): Op => ({ op: 'addRule', family: 'ip6', chain: 'c', rule: { exprs } })),
    ]);
    const { sets, chains } = (await actualState(kernel)).tables.get('ip6')!;
    expect(sets.get(map.name)).toEqual(set(map, [six]));
    expect(chains.get('c')!.rules).toEqual(rules.map(exprs => ({ exprs })));
  });

  promise('an element of a map to data stands with its data, or is refused with EEXIST', async kernel => {
    const generation = await kernel.commit([
      addTable(),
      addSet(HOST_PORTS),
      addElements(HOST_PORTS, [entry]),
    ]);
    const again: Entry = [entry[0], { ...entry[1], comment: 'shop/other' }];
    expect(await kernel.commit([addElements(HOST_PORTS, [again])])).toBe(generation);
    const other: Entry = [entry[0], { data: '10.0.0.6 . 8080' }];
    await refused(kernel, 'EEXIST', [addElements(HOST_PORTS, [other])], 0);
    await kernel.commit([delElements(HOST_PORTS, [entry[0]]), addElements(HOST_PORTS, [other])]);
    expect(await elementsOf(kernel, 'host-ports')).toEqual(new Map([other]));
  });

  promise('an element without what its map asks for is refused with EINVAL', async kernel => {
    await kernel.commit([addTable(), addSet(HOST_PORTS), addSet(PODS), addSet(PEERS)]);
    await refused(kernel, 'EINVAL', [addElements(HOST_PORTS, ['tcp . 80'])], 0);
    await refused(
      kernel,
      'EINVAL',
      [addElements(HOST_PORTS, [['tcp . 80', { verdict: { kind: 'drop' } }]])],
      0,
    );
    await refused(kernel, 'EINVAL', [addElements(PODS, ['10.0.0.1'])], 0);
    await refused(kernel, 'EINVAL', [addElements(PEERS, [['10.0.0.1', { verdict: { kind: 'drop' } }]])], 0);
  });

  promise('a map is looked up for what it holds, or the rule is refused with EINVAL', async kernel => {
    await kernel.commit([addTable(), addSet(HOST_PORTS), addSet(PORTS), addSet(PEERS), addChain('c')]);
    const [lookup] = protocolPortVmap('ip', 'host-ports').slice(-1);
    await refused(kernel, 'EINVAL', [addRule('c', protocolPortVmap('ip', 'host-ports'))], 0);
    await refused(kernel, 'EINVAL', [addRule('c', redirectByPort('ip', 'ports'))], 0);
    await refused(
      kernel,
      'EINVAL',
      [
        addRule('c', [
          ...addressIn('ip', 'saddr', 'peers').slice(0, 1),
          { ...lookup, set: 'peers', vmap: false, dreg: 0 } as Expr,
        ]),
      ],
      0,
    );
  });

  promise(
    'a nat chain at forward, or before connections are known, is refused with EOPNOTSUPP',
    async kernel => {
      await kernel.commit([addTable()]);
      await refused(kernel, 'EOPNOTSUPP', [base({ ...PREROUTING, hook: 'forward' })], 0);
      await refused(kernel, 'EOPNOTSUPP', [base({ ...PREROUTING, priority: -200 })], 0);
      await kernel.commit([base({ ...PREROUTING, hook: 'input', priority: -199 })]);
    },
  );

  promise('what translates is refused with EOPNOTSUPP where it cannot, also behind a jump', async kernel => {
    await kernel.commit([addTable(), addSet(HOST_PORTS), addChain('c')]);
    const dnat = redirectByPort('ip', 'host-ports');
    const rule = (hook: BaseHook, exprs: readonly Expr[]) => [base(hook), addRule('base', exprs)];
    await refused(kernel, 'EOPNOTSUPP', rule(POSTROUTING, dnat));
    await refused(kernel, 'EOPNOTSUPP', rule({ ...PREROUTING, hook: 'input' }, dnat));
    await refused(kernel, 'EOPNOTSUPP', rule({ hook: 'prerouting', priority: -99, policy: 'accept' }, dnat));
    await refused(kernel, 'EOPNOTSUPP', rule(PREROUTING, [masquerade()]));
    await refused(kernel, 'EOPNOTSUPP', rule(at('postrouting'), [masquerade()]));
    await kernel.commit([addRule('c', [masquerade()])]); // nothing leads there
    await refused(kernel, 'EOPNOTSUPP', rule(OUTPUT, [verdict('jump', 'c')]));
    await kernel.commit(rule(POSTROUTING, [verdict('jump', 'c')]));
  });

  promise('routes are asked for where the kernel can answer, or EOPNOTSUPP', async kernel => {
    await kernel.commit([addTable()]);
    const fib = (result: 'oif' | 'exists' | 'type', ...flags: FibFlag[]): Expr => ({
      kind: 'fib',
      result,
      flags,
      dreg: 0,
    });
    const rule = (hook: BaseHook['hook'], expr: Expr) => [base(at(hook)), addRule('base', [expr])];
    for (const result of ['oif', 'exists'] as const) {
      for (const hook of ['output', 'postrouting'] as const) {
        await refused(kernel, 'EOPNOTSUPP', rule(hook, fib(result, 'saddr', 'iif')));
        await refused(kernel, 'EOPNOTSUPP', rule(hook, fib(result, 'saddr')));
      }
    }
    for (const hook of ['output', 'postrouting'] as const)
      await refused(kernel, 'EOPNOTSUPP', rule(hook, fib('type', 'daddr', 'iif')));
    for (const hook of ['prerouting', 'input'] as const)
      await refused(kernel, 'EOPNOTSUPP', rule(hook, fib('type', 'daddr', 'oif')));
    const impossible: FibFlag[][] = [[], ['iif'], ['saddr', 'daddr'], ['saddr', 'iif', 'oif']];
    for (const flags of impossible)
      for (const result of ['oif', 'exists', 'type'] as const)
        await refused(kernel, 'EINVAL', rule('forward', fib(result, ...flags)), 1);
    await refused(kernel, 'EINVAL', rule('forward', fib('oif', 'saddr', 'oif')), 1);
    const allowed: [BaseHook['hook'], Expr][] = [
      ['prerouting', fib('exists', 'saddr')],
      ['input', fib('oif', 'saddr', 'iif')],
      ['forward', fib('exists', 'daddr', 'iif')],
      ['forward', fib('type', 'daddr', 'oif')],
      ['postrouting', fib('type', 'saddr')],
    ];
    await kernel.commit(
      allowed.flatMap(([hook, expr], i) => [
        { op: 'addChain', family: 'ip', chain: `c${i}`, hook: at(hook) } as const,
        addRule(`c${i}`, [expr]),
      ]),
    );
  });
}
