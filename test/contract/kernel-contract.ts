/**
 * What every Kernel does, the real one and the fake: run by test/kernel/contract.test.ts on nf_tables in a network
 * namespace of its own for each test, and by test/support/kernel/fake.test.ts on the fake.
 */
import { afterAll, describe, expect, it } from 'vitest';
import type { Kernel } from '../../src/nft/kernel.ts';
import {
  addressIn,
  addressPairIn,
  addressTypeIs,
  addressVmap,
  ctStateAny,
  hopsLeft,
  icmpTypeIs,
  masquerade,
  protocolPortVmap,
  redirectByPort,
  verdict,
} from '../../src/nft/match.ts';
import { isFragment, isLaterFragment } from '../../src/nft/matchextension.ts';
import {
  interfaceGroupIs,
  interfaceIn,
  interfaceIs,
  interfaceKindIs,
  noRouteBack,
  packetTypeIs,
} from '../../src/nft/matchinterface.ts';
import { NO_LAST } from '../../src/nft/missingfeature.ts';
import type { Op } from '../../src/nft/plan/op.ts';
import type { Expr, NftRule, NftVerdict, SetSpec } from '../../src/nft/ruleset.ts';
import { MEMBER } from '../../src/nft/ruleset.ts';
import { answers } from './answers.ts';
import { denials } from './denials.ts';
import { limits } from './limits.ts';
import { naming } from './naming.ts';
import {
  actualState,
  addChain,
  addElements,
  addRule,
  addSet,
  addTable,
  chain,
  delChain,
  delElements,
  delSet,
  type Entry,
  elementsOf,
  flushChain,
  HOST_PORTS,
  hooked,
  jumpTo,
  LINKS,
  LOOP,
  members,
  PAIRS,
  PEERS,
  PEERS6,
  PODS,
  PORTS,
  type PromiseOf,
  refused,
  ruleset,
  set,
} from './steps.ts';
import { translation } from './translation.ts';

/** `open` answers a kernel without any table, different ones at each call. */
export function kernelContract(name: string, open: () => Promise<Kernel>): void {
  describe(`${name} keeps the contract of Kernel`, () => {
    const committed = new Set<Op['op']>();

    /** A promise, kept by a kernel of its own. */
    const promise = (title: string, keep: (kernel: Kernel) => Promise<void>) =>
      it(title, async () => {
        const kernel = await open();
        try {
          await keep(recording(kernel, committed));
        } finally {
          kernel.close();
        }
      });

    tables(promise);
    chainsAndRules(promise);
    sets(promise);
    elements(promise);
    intervals(promise);
    translation(promise);
    denials(promise);
    answers(promise);
    batches(promise);
    generations(promise);
    limits(promise);
    naming(promise);

    afterAll(() => {
      const missed = Object.keys(OP_KINDS).filter(kind => !committed.has(kind as Op['op']));
      expect(missed, 'kinds of Op that no test above has put into force').toEqual([]);
    });
  });
}

const OP_KINDS: Record<Op['op'], true> = {
  addTable: true,
  delTable: true,
  addSet: true,
  delSet: true,
  addChain: true,
  delChain: true,
  flushChain: true,
  addRule: true,
  addElements: true,
  delElements: true,
};

function tables(promise: PromiseOf): void {
  promise('a new kernel holds no table of ours', async kernel => {
    expect((await kernel.dump()).ruleset).toEqual({ tables: new Map() });
  });

  promise('addTable makes an empty table in its family only', async kernel => {
    await kernel.commit([addTable('ip6')]);
    expect(await actualState(kernel)).toEqual(ruleset({ ip6: { sets: [], chains: [] } }));
  });

  promise('one batch reaches both families', async kernel => {
    await kernel.commit([addTable('ip'), addTable('ip6'), addChain('c', 'ip'), addSet(PEERS6, 8, 'ip6')]);
    expect(await actualState(kernel)).toEqual(
      ruleset({ ip: { sets: [], chains: [chain('c')] }, ip6: { sets: [set(PEERS6)], chains: [] } }),
    );
  });

  promise('addTable of a table that stands is refused with EEXIST', async kernel => {
    await kernel.commit([addTable()]);
    await refused(kernel, 'EEXIST', [addTable()], 0);
  });

  promise('delTable takes everything in it, and nothing of the other family', async kernel => {
    await kernel.commit([addTable('ip6'), addChain('c', 'ip6'), ...everything()]);
    await kernel.commit([{ op: 'delTable', family: 'ip' }]);
    expect(await actualState(kernel)).toEqual(ruleset({ ip6: { sets: [], chains: [chain('c')] } }));
  });

  promise('delTable of a table that does not exist is refused with ENOENT', async kernel => {
    await refused(kernel, 'ENOENT', [{ op: 'delTable', family: 'ip' }], 0);
  });

  promise('a table may be deleted and made anew in one batch', async kernel => {
    await kernel.commit(everything());
    await kernel.commit([{ op: 'delTable', family: 'ip' }, addTable(), addChain('new')]);
    expect(await actualState(kernel)).toEqual(ruleset({ ip: { sets: [], chains: [chain('new')] } }));
  });

  promise('anything in a table that does not exist is refused with ENOENT', async kernel => {
    await refused(kernel, 'ENOENT', [addChain('c')], 0);
    await refused(kernel, 'ENOENT', [addSet(PEERS)], 0);
    await refused(kernel, 'ENOENT', [addRule('c', [verdict('accept')])], 0);
    await refused(kernel, 'ENOENT', [addElements(PEERS, ['10.0.0.1'])], 0);
  });
}

function chainsAndRules(promise: PromiseOf): void {
  promise('a base chain keeps its hook, priority and policy', async kernel => {
    const hooks = [
      { hook: 'forward', priority: 0, policy: 'accept' },
      { hook: 'input', priority: -150, policy: 'drop' },
      { hook: 'output', priority: 7, policy: 'accept' },
      { hook: 'prerouting', priority: -300, policy: 'accept' },
      { type: 'nat', hook: 'postrouting', priority: 100, policy: 'accept' },
    ] as const;
    await kernel.commit([
      addTable(),
      ...hooks.map((hook): Op => ({ op: 'addChain', family: 'ip', chain: hook.hook, hook })),
    ]);
    expect((await actualState(kernel)).tables.get('ip')!.chains).toEqual(
      new Map(hooks.map(hook => [hook.hook, { name: hook.hook, hook, rules: [] }])),
    );
  });

  promise('a rule that remembers when it was met last comes back as it went in', async kernel => {
    if (kernel.missingFeatures.includes(NO_LAST)) return; // before Linux 5.14
    const rule: NftRule = { exprs: [{ kind: 'counter' }, { kind: 'last' }, verdict('accept')] };
    await kernel.commit([addTable(), addChain('c'), addRule('c', rule.exprs)]);
    expect((await actualState(kernel)).tables.get('ip')!.chains.get('c')!.rules).toEqual([rule]);
  });

  promise('rules keep their order, expressions and comments', async kernel => {
    const rules: NftRule[] = [
      { exprs: ctStateAny(6).concat(verdict('accept')), comment: 'established' },
      ...EVERY_EXPRESSION.map(exprs => ({ exprs })),
      { exprs: [verdict('drop')], comment: 'x'.repeat(120) },
    ];
    await kernel.commit([
      addTable(),
      addSet(PEERS),
      addSet(PODS),
      addSet(PORTS),
      addSet(HOST_PORTS),
      addSet(PAIRS),
      addSet(LINKS),
      addChain('other'),
      addChain('c'),
      ...rules.map((rule): Op => ({ op: 'addRule', family: 'ip', chain: 'c', rule })),
    ]);
    expect((await actualState(kernel)).tables.get('ip')!.chains.get('c')!.rules).toEqual(rules);
  });

  promise('addChain of a chain that stands is refused with EEXIST', async kernel => {
    await kernel.commit([addTable(), addChain('c')]);
    await refused(kernel, 'EEXIST', [addChain('c')], 0);
  });

  promise('delChain takes its rules with it', async kernel => {
    await kernel.commit([addTable(), addChain('b'), addChain('a'), addRule('a', [verdict('jump', 'b')])]);
    await kernel.commit([delChain('a'), delChain('b')]);
    expect(await actualState(kernel)).toEqual(ruleset({ ip: { sets: [], chains: [] } }));
  });

  promise(
    'flushChain takes the rules and leaves the chain, which may be filled in the same batch',
    async kernel => {
      await kernel.commit([
        addTable(),
        addChain('c'),
        addRule('c', [verdict('drop')]),
        addRule('c', [verdict('accept')]),
      ]);
      await kernel.commit([flushChain('c'), addRule('c', [verdict('return')])]);
      expect((await actualState(kernel)).tables.get('ip')!.chains.get('c')!.rules).toEqual([
        { exprs: [verdict('return')] },
      ]);
      await kernel.commit([flushChain('c')]);
      expect((await actualState(kernel)).tables.get('ip')!.chains.get('c')!.rules).toEqual([]);
    },
  );

  promise('delChain and flushChain of a chain that does not exist are refused with ENOENT', async kernel => {
    await kernel.commit([addTable()]);
    await refused(kernel, 'ENOENT', [delChain('c')], 0);
    await refused(kernel, 'ENOENT', [flushChain('c')], 0);
    await refused(kernel, 'ENOENT', [addRule('c', [verdict('accept')])], 0);
  });

  promise('a chain that a rule jumps to is refused with EBUSY until the rule is gone', async kernel => {
    await kernel.commit([addTable(), addChain('b'), addChain('a'), addRule('a', [verdict('goto', 'b')])]);
    await refused(kernel, 'EBUSY', [delChain('b')], 0);
    await refused(kernel, 'EBUSY', [delChain('b'), flushChain('a')], 0);
    await kernel.commit([flushChain('a'), delChain('b')]);
  });

  promise(
    'a chain that an element jumps to is refused with EBUSY until the element is gone',
    async kernel => {
      const jump: Entry = ['10.0.0.1', { verdict: { kind: 'jump', chain: 'b' } }];
      await kernel.commit([addTable(), addChain('b'), addSet(PODS), addElements(PODS, [jump])]);
      await refused(kernel, 'EBUSY', [delChain('b')], 0);
      await kernel.commit([delElements(PODS, ['10.0.0.1']), delChain('b')]);
    },
  );

  promise('a jump to a chain that comes later in the batch is refused with ENOENT', async kernel => {
    await kernel.commit([addTable(), addChain('a'), addSet(PODS)]);
    await refused(kernel, 'ENOENT', [addRule('a', [verdict('jump', 'b')]), addChain('b')], 0);
    const jump: Entry = ['10.0.0.1', { verdict: { kind: 'jump', chain: 'b' } }];
    await refused(kernel, 'ENOENT', [addElements(PODS, [jump]), addChain('b')], 0);
  });

  promise('a rule that names a missing set is refused with ENOENT', async kernel => {
    await kernel.commit([addTable(), addChain('c')]);
    await refused(kernel, 'ENOENT', [addRule('c', addressIn('ip', 'saddr', 'peers'))], 0);
    await refused(kernel, 'ENOENT', [addRule('c', addressIn('ip', 'saddr', 'peers')), addSet(PEERS)], 0);
  });

  promise('a jump to a base chain is refused with EOPNOTSUPP', async kernel => {
    const hook = { hook: 'forward', priority: 0, policy: 'accept' } as const;
    await kernel.commit([addTable(), { op: 'addChain', family: 'ip', chain: 'f', hook }, addChain('c')]);
    await refused(kernel, 'EOPNOTSUPP', [addRule('c', [verdict('jump', 'f')])], 0);
  });

  promise('chains that jump in a circle are refused', async kernel => {
    await kernel.commit([
      addTable(),
      ...hooked('forward', 'a'),
      addChain('b'),
      addRule('a', [verdict('jump', 'b')]),
    ]);
    await refused(kernel, LOOP, [addRule('b', [verdict('jump', 'a')])]);
    await refused(kernel, LOOP, [addRule('b', [verdict('goto', 'b')])]);
  });

  promise('a circle through the elements of a map is refused', async kernel => {
    await kernel.commit([
      addTable(),
      ...hooked('forward', 'a'),
      addSet(PODS),
      addRule('a', addressVmap('ip', 'saddr', PODS.name)),
    ]);
    await refused(kernel, LOOP, [
      addElements(PODS, [['10.0.0.1', { verdict: { kind: 'goto', chain: 'a' } }]]),
    ]);
  });

  promise('jumps are at most 15 deep, then EMLINK', async kernel => {
    const chains = Array.from({ length: 17 }, (_, i) => `c${i}`);
    const jump = (i: number) => addRule(chains[i]!, [verdict('jump', chains[i + 1]!)]);
    await kernel.commit([
      addTable(),
      ...chains.map(name => addChain(name)),
      ...hooked('forward', 'c0', false),
    ]);
    await kernel.commit(Array.from({ length: 14 }, (_, i) => jump(i)));
    await refused(kernel, ['EMLINK'], [jump(14), jump(15)]);
  });

  promise('names of chains and sets may have 255 bytes', async kernel => {
    const long = `in-${'x'.repeat(252)}`;
    const map: SetSpec = { ...PODS, name: `${'m'.repeat(255)}` };
    const jump: Entry = ['10.0.0.1', { verdict: { kind: 'goto', chain: long }, comment: 'c'.repeat(120) }];
    await kernel.commit([
      addTable(),
      addChain(long),
      addSet(map),
      addElements(map, [jump]),
      addChain('c'),
      addRule('c', addressVmap('ip', 'daddr', map.name)),
    ]);
    expect(await actualState(kernel)).toEqual(
      ruleset({
        ip: {
          sets: [set(map, [jump])],
          chains: [chain(long), chain('c', { exprs: addressVmap('ip', 'daddr', map.name) })],
        },
      }),
    );
  });
}

function sets(promise: PromiseOf): void {
  promise('sets keep key, kind and comment', async kernel => {
    const specs: SetSpec[] = [
      PEERS,
      PODS,
      PORTS,
      { name: 'three', key: ['ipv4_addr', 'inet_proto', 'inet_service'], verdicts: false, interval: false },
      { name: 'six', key: ['ipv6_addr', 'inet_proto', 'inet_service'], verdicts: false, interval: false },
      { name: 'nets', key: ['ipv4_addr'], verdicts: false, interval: true, comment: 'networks' },
      { name: 'port-ranges', key: ['inet_service'], verdicts: true, interval: true },
      HOST_PORTS,
      PAIRS,
      { name: 'interfaces', key: ['iface_index', 'ipv4_addr'], verdicts: false, interval: false },
      { name: 'owners', key: ['ipv4_addr'], verdicts: false, data: ['iface_index'], interval: false },
      { name: 'commented', key: ['ipv6_addr'], verdicts: true, interval: false, comment: 'c'.repeat(120) },
    ];
    await kernel.commit([addTable(), ...specs.map(spec => addSet(spec, 64))]);
    expect(await actualState(kernel)).toEqual(
      ruleset({ ip: { sets: specs.map(spec => set(spec)), chains: [] } }),
    );
  });

  promise('a dump tells the size that a set was given', async kernel => {
    await kernel.commit([addTable(), addSet(PEERS, 1000)]);
    expect((await kernel.dump()).ruleset.tables.get('ip')!.sets.get('peers')!.size).toBe(1000);
  });

  promise('a dump beside what was known is the same as one without', async kernel => {
    const nets: SetSpec = { ...PEERS, name: 'nets', interval: true };
    await kernel.commit([addTable(), addSet(PEERS), addElements(PEERS, ['10.0.0.1'])]);
    await kernel.commit([addSet(nets), addElements(nets, ['10.0.0.0/8'])]);
    const known = (await kernel.dump()).ruleset;
    expect(await kernel.dump(known)).toEqual(await kernel.dump());
    await kernel.commit([addElements(PEERS, ['10.0.0.2']), addElements(nets, ['11.0.0.0/8'])]);
    expect(await kernel.dump(known)).toEqual(await kernel.dump());
  });

  promise('addSet of a set that stands is refused with EEXIST', async kernel => {
    await kernel.commit([addTable(), addSet(PEERS)]);
    await refused(kernel, 'EEXIST', [addSet(PEERS)], 0);
  });

  promise('delSet takes its elements with it', async kernel => {
    const jump: Entry = ['10.0.0.1', { verdict: { kind: 'jump', chain: 'c' } }];
    await kernel.commit([addTable(), addChain('c'), addSet(PODS), addElements(PODS, [jump])]);
    await kernel.commit([delSet('pods'), delChain('c')]);
    expect(await actualState(kernel)).toEqual(ruleset({ ip: { sets: [], chains: [] } }));
  });

  promise('a set that a rule looks up is refused with EBUSY until the rule is gone', async kernel => {
    await kernel.commit([
      addTable(),
      addSet(PEERS),
      addChain('c'),
      addRule('c', addressIn('ip', 'saddr', 'peers')),
    ]);
    await refused(kernel, 'EBUSY', [delSet('peers')], 0);
    await kernel.commit([flushChain('c'), delSet('peers')]);
  });

  promise('delSet of a set that does not exist is refused with ENOENT', async kernel => {
    await kernel.commit([addTable()]);
    await refused(kernel, 'ENOENT', [delSet('peers')], 0);
  });

  promise('a set takes as many elements as its size, then ENFILE', async kernel => {
    await kernel.commit([addTable(), addSet(PEERS, 2), addElements(PEERS, ['10.0.0.1', '10.0.0.2'])]);
    await refused(kernel, 'ENFILE', [addElements(PEERS, ['10.0.0.3'])], 0);
    await kernel.commit([delElements(PEERS, ['10.0.0.1']), addElements(PEERS, ['10.0.0.3'])]);
    expect(await elementsOf(kernel, 'peers')).toEqual(members('10.0.0.2', '10.0.0.3'));
  });
}

function elements(promise: PromiseOf): void {
  promise('elements keep key, verdict and comment', async kernel => {
    const verdicts: NftVerdict[] = [
      { kind: 'accept' },
      { kind: 'drop' },
      { kind: 'return' },
      { kind: 'jump', chain: 'c' },
      { kind: 'goto', chain: 'c' },
    ];
    const entries = verdicts.map(
      (verdict, i): Entry => [`10.0.0.${i}`, { verdict, comment: `shop/web-${i}` }],
    );
    const ports: Entry[] = [
      ['tcp . 80', { verdict: { kind: 'accept' } }],
      ['udp . 65535', { verdict: { kind: 'goto', chain: 'c' } }],
      ['sctp . 1', { verdict: { kind: 'drop' }, comment: 'ünïcode' }],
    ];
    await kernel.commit([
      addTable(),
      addChain('c'),
      addSet(PODS),
      addSet(PORTS),
      addElements(PODS, entries),
      addElements(PORTS, ports),
    ]);
    expect(await elementsOf(kernel, 'pods')).toEqual(new Map(entries));
    expect(await elementsOf(kernel, 'ports')).toEqual(new Map(ports));
  });

  promise('IPv6 addresses come back as RFC 5952 writes them', async kernel => {
    const keys = [
      '::',
      '::1',
      '1::',
      'fd00::1',
      '1:0:0:2::3',
      '0:1:1:1:1:1:1:1',
      'fe80::1:0:0:1',
      '1:2:3:4:5:6:7:8',
    ];
    await kernel.commit([addTable('ip6'), addSet(PEERS6, 16, 'ip6'), addElements(PEERS6, keys, 'ip6')]);
    expect((await actualState(kernel)).tables.get('ip6')!.sets.get('peers6')!.elements).toEqual(
      members(...keys),
    );
  });

  promise(
    'an element that stands with the same verdict is passed over, and keeps its comment',
    async kernel => {
      const verdict: NftVerdict = { kind: 'accept' };
      await kernel.commit([addTable(), addSet(PEERS), addSet(PODS)]);
      await kernel.commit([
        addElements(PEERS, [['10.0.0.1', { comment: 'old' }]]),
        addElements(PODS, [['10.0.0.1', { verdict, comment: 'old' }]]),
      ]);
      await kernel.commit([
        addElements(PEERS, [['10.0.0.1', { comment: 'new' }]]),
        addElements(PODS, [['10.0.0.1', { verdict, comment: 'new' }]]),
      ]);
      expect(await elementsOf(kernel, 'peers')).toEqual(new Map([['10.0.0.1', { comment: 'old' }]]));
      expect(await elementsOf(kernel, 'pods')).toEqual(new Map([['10.0.0.1', { verdict, comment: 'old' }]]));
    },
  );

  promise('a map element that stands with another verdict is refused with EEXIST', async kernel => {
    await kernel.commit([
      addTable(),
      addChain('a'),
      addChain('b'),
      addSet(PODS),
      addElements(PODS, [jumpTo('a')]),
    ]);
    await refused(kernel, 'EEXIST', [addElements(PODS, [jumpTo('b')])], 0);
    await refused(kernel, 'EEXIST', [addElements(PODS, [['10.0.0.1', { verdict: { kind: 'drop' } }]])], 0);
  });

  promise('delElements and addElements in one batch change a verdict or a comment', async kernel => {
    await kernel.commit([
      addTable(),
      addChain('a'),
      addChain('b'),
      addSet(PEERS),
      addSet(PODS),
      addElements(PODS, [jumpTo('a')]),
      addElements(PEERS, [['10.0.0.1', { comment: 'old' }]]),
    ]);
    await kernel.commit([
      delElements(PODS, ['10.0.0.1']),
      delElements(PEERS, ['10.0.0.1']),
      addElements(PODS, [jumpTo('b')]),
      addElements(PEERS, [['10.0.0.1', { comment: 'new' }]]),
      delChain('a'),
    ]);
    expect(await elementsOf(kernel, 'pods')).toEqual(new Map([jumpTo('b')]));
    expect(await elementsOf(kernel, 'peers')).toEqual(new Map([['10.0.0.1', { comment: 'new' }]]));
  });

  promise('delElements of an element that does not exist is refused with ENOENT', async kernel => {
    await kernel.commit([addTable(), addSet(PEERS), addElements(PEERS, ['10.0.0.1'])]);
    await refused(kernel, 'ENOENT', [delElements(PEERS, ['10.0.0.2'])], 0);
    await refused(kernel, 'ENOENT', [delElements(PEERS, ['10.0.0.1', '10.0.0.1'])], 0);
    await refused(kernel, 'ENOENT', [delElements(PODS, ['10.0.0.1'])], 0);
  });

  promise('elements of a set that does not exist are refused with ENOENT', async kernel => {
    await kernel.commit([addTable()]);
    await refused(kernel, 'ENOENT', [addElements(PEERS, ['10.0.0.1'])], 0);
  });

  promise('a batch of 100,000 elements goes in, comes back and goes out whole', async kernel => {
    const keys = Array.from({ length: 100_000 }, (_, i) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
    await kernel.commit([addTable(), addSet(PEERS, 131_072), addElements(PEERS, keys)]);
    const { elements } = (await actualState(kernel)).tables.get('ip')!.sets.get('peers')!;
    expect(elements.size).toBe(keys.length);
    expect(keys.filter(key => elements.get(key) !== MEMBER)).toEqual([]);
    await kernel.commit([delElements(PEERS, keys.slice(1))]);
    expect(await elementsOf(kernel, 'peers')).toEqual(members(keys[0]!));
  });

  promise('many elements with verdicts and comments come back as they went in', async kernel => {
    const names = Array.from({ length: 50 }, (_, i) => `in-${i}-${'n'.repeat(i)}`);
    const entries = Array.from(
      { length: 5000 },
      (_, i): Entry => [
        `10.0.${i >> 8}.${i & 255}`,
        {
          verdict: { kind: i % 2 ? 'goto' : 'jump', chain: names[i % 50]! },
          comment: `ns/${'p'.repeat(i % 100)}`,
        },
      ],
    );
    await kernel.commit([
      addTable(),
      ...names.map(name => addChain(name)),
      addSet(PODS, 8192),
      addElements(PODS, entries),
    ]);
    expect(await elementsOf(kernel, 'pods')).toEqual(new Map(entries));
  });
}

function intervals(promise: PromiseOf): void {
  const NETS: SetSpec = { name: 'nets', key: ['ipv4_addr'], verdicts: false, interval: true };
  const NETS6: SetSpec = { name: 'nets6', key: ['ipv6_addr'], verdicts: false, interval: true };
  const RANGES: SetSpec = { name: 'ranges', key: ['inet_service'], verdicts: true, interval: true };

  promise('networks and ranges come back as they went in, in any order', async kernel => {
    const nets = [
      '192.168.0.0/16',
      '10.0.0.0/8',
      '172.16.0.3-172.16.0.9',
      '0.0.0.0/32',
      '255.255.255.255/32',
    ];
    const nets6 = ['fd00::/8', '2001:db8::1/128', '2001:db8::5-2001:db8::9', 'ff00::-ffff:ffff::'];
    const ports: Entry[] = [
      ['80', { verdict: { kind: 'accept' }, comment: 'one' }],
      ['1000-2000', { verdict: { kind: 'drop' } }],
      ['65000-65535', { verdict: { kind: 'return' } }],
    ];
    await kernel.commit([
      addTable(),
      addTable('ip6'),
      addSet(NETS, 16),
      addSet(RANGES, 16),
      addSet(NETS6, 16, 'ip6'),
      addElements(NETS, [...nets.map(key => [key, MEMBER] as const), ['11.1.1.1/32', { comment: 'one' }]]),
      addElements(RANGES, ports),
      addElements(NETS6, nets6, 'ip6'),
    ]);
    const { tables } = await actualState(kernel);
    expect(tables.get('ip')!.sets.get('nets')!.elements).toEqual(
      members(...nets).set('11.1.1.1/32', { comment: 'one' }),
    );
    expect(tables.get('ip')!.sets.get('ranges')!.elements).toEqual(new Map(ports));
    expect(tables.get('ip6')!.sets.get('nets6')!.elements).toEqual(members(...nets6));
  });

  promise('all addresses are one network', async kernel => {
    await kernel.commit([addTable(), addSet(NETS, 16), addElements(NETS, ['0.0.0.0/0'])]);
    expect(await elementsOf(kernel, 'nets')).toEqual(members('0.0.0.0/0'));
  });

  promise('a network that overlaps another is refused with EEXIST', async kernel => {
    await kernel.commit([addTable(), addSet(NETS, 16), addElements(NETS, ['10.0.0.0/8'])]);
    await refused(kernel, 'EEXIST', [addElements(NETS, ['10.1.0.0/16'])], 0);
    await refused(kernel, 'EEXIST', [addElements(NETS, ['9.0.0.0-10.0.0.0'])], 0);
  });

  promise('a network that was deleted leaves nothing behind', async kernel => {
    await kernel.commit([addTable(), addSet(NETS, 16), addElements(NETS, ['10.0.0.0/8', '12.0.0.0/8'])]);
    await kernel.commit([delElements(NETS, ['10.0.0.0/8'])]);
    await kernel.commit([addElements(NETS, ['9.0.0.0-10.0.0.9'])]);
    expect(await elementsOf(kernel, 'nets')).toEqual(members('9.0.0.0-10.0.0.9', '12.0.0.0/8'));
  });

  promise(
    'a set is replaced under another name, with the rule that looks it up, in one batch',
    async kernel => {
      const next: SetSpec = { ...NETS, name: 'nets-2' };
      await kernel.commit([
        addTable(),
        addSet(NETS, 16),
        addElements(NETS, ['10.0.0.0/8']),
        addChain('c'),
        addRule('c', addressIn('ip', 'saddr', 'nets')),
      ]);
      await kernel.commit([
        addSet(next, 16),
        addElements(next, ['10.0.0.0/9']),
        flushChain('c'),
        addRule('c', addressIn('ip', 'saddr', 'nets-2')),
        delSet('nets'),
      ]);
      expect(await actualState(kernel)).toEqual(
        ruleset({
          ip: {
            sets: [set(next, [['10.0.0.0/9', MEMBER]])],
            chains: [chain('c', { exprs: addressIn('ip', 'saddr', 'nets-2') })],
          },
        }),
      );
    },
  );
}

function batches(promise: PromiseOf): void {
  promise('a batch that fails at its last step changes nothing', async kernel => {
    await kernel.commit(everything());
    await refused(
      kernel,
      'ENOENT',
      [
        addChain('new'),
        flushChain('forward'),
        addElements(PEERS, ['10.9.9.9']),
        delElements(PODS, ['10.0.0.1']),
        delElements(PEERS, ['10.1.1.1']),
      ],
      4,
    );
  });

  promise('a refused batch does not keep the next one from going in', async kernel => {
    await kernel.commit([addTable()]);
    await refused(kernel, 'ENOENT', [addChain('a'), delChain('b')], 1);
    await kernel.commit([addChain('a')]);
    expect(await actualState(kernel)).toEqual(ruleset({ ip: { sets: [], chains: [chain('a')] } }));
  });

  promise('an error names its object', async kernel => {
    await kernel.commit([
      addTable(),
      addSet(PEERS),
      addChain('c'),
      addRule('c', addressIn('ip', 'saddr', 'peers')),
    ]);
    await expect(kernel.commit([delSet('peers')])).rejects.toThrow(/EBUSY.*delete set ip sluice peers/);
    await expect(kernel.commit([delElements(PEERS, ['10.0.0.77'])])).rejects.toThrow(
      /ENOENT.*10\.0\.0\.77.*peers/,
    );
  });

  promise('commits asked for at once go in one after the other', async kernel => {
    await kernel.commit([addTable(), addSet(PEERS, 128)]);
    const keys = Array.from({ length: 64 }, (_, i) => `10.0.0.${i}`);
    const generations = await Promise.all(keys.map(key => kernel.commit([addElements(PEERS, [key])])));
    expect(await elementsOf(kernel, 'peers')).toEqual(members(...keys));
    expect(generations).toEqual(keys.map((_, i) => generations[0]! + i));
  });

  promise('a dump asked for behind a commit sees it', async kernel => {
    const commit = kernel.commit(everything());
    const { ruleset, generation } = await kernel.dump();
    expect(ruleset.tables.get('ip')!.chains.size).toBe(4);
    expect(generation).toBe(await commit);
  });
}

function generations(promise: PromiseOf): void {
  promise('every commit makes the next generation, and says so', async kernel => {
    const before = await kernel.generation();
    expect(await kernel.commit([addTable()])).toBe(before + 1);
    expect(await kernel.commit([addChain('c')], before + 1)).toBe(before + 2);
    expect(await kernel.generation()).toBe(before + 2);
    expect((await kernel.dump()).generation).toBe(before + 2);
  });

  promise('a commit that expects an older generation is refused with ERESTART', async kernel => {
    const { generation } = await kernel.dump();
    await kernel.commit([addTable()]);
    await refused(kernel, 'ERESTART', [addTable('ip6')], undefined, generation);
    await refused(kernel, 'ERESTART', [], undefined, generation);
  });

  promise('a refused batch makes no generation', async kernel => {
    const before = await kernel.generation();
    await expect(kernel.commit([addTable(), delChain('c')])).rejects.toThrow('ENOENT');
    expect(await kernel.commit([addTable()], before)).toBe(before + 1);
  });

  promise('an empty batch changes nothing, and no generation', async kernel => {
    const generation = await kernel.commit([addTable()]);
    expect(await kernel.commit([])).toBe(generation);
    expect(await kernel.commit([], generation)).toBe(generation);
    expect(await kernel.generation()).toBe(generation);
  });

  promise('a batch of elements that all stand makes no generation', async kernel => {
    const generation = await kernel.commit([addTable(), addSet(PEERS), addElements(PEERS, ['10.0.0.1'])]);
    expect(await kernel.commit([addElements(PEERS, ['10.0.0.1'])])).toBe(generation);
    expect(await kernel.commit([addElements(PEERS, ['10.0.0.1', '10.0.0.2'])])).toBe(generation + 1);
    expect(await kernel.generation()).toBe(generation + 1);
  });
}

/** Every expression, in every form that match.ts makes and some that it does not; needs the sets of steps.ts and `other`. */
const EVERY_EXPRESSION: readonly (readonly Expr[])[] = [
  [
    { kind: 'meta', key: 'nfproto', dreg: 0 },
    { kind: 'cmp', sreg: 0, op: 'eq', data: '02' },
  ],
  [
    { kind: 'meta', key: 'l4proto', dreg: 3 },
    { kind: 'cmp', sreg: 3, op: 'neq', data: '06' },
  ],
  ctStateAny(6),
  (['eq', 'neq', 'lt', 'lte', 'gt', 'gte'] as const).flatMap((op): Expr[] => [
    { kind: 'payload', base: 'transport', offset: 2, length: 2, dreg: 8 },
    { kind: 'cmp', sreg: 8, op, data: '0050' },
  ]),
  [
    { kind: 'payload', base: 'network', offset: 12, length: 4, dreg: 4 },
    { kind: 'bitwise', sreg: 4, dreg: 5, mask: 'ffffff00', xor: '00000001' },
    { kind: 'cmp', sreg: 5, op: 'eq', data: '0a000001' },
  ],
  addressIn('ip', 'saddr', 'peers'),
  addressIn('ip', 'daddr', 'peers', true),
  addressVmap('ip', 'saddr', 'pods'),
  protocolPortVmap('ip', 'ports'),
  interfaceGroupIs('iifgroup', 29548),
  interfaceGroupIs('oifgroup', 1),
  interfaceKindIs('veth'),
  interfaceIs('iif', 7, true),
  interfaceIn('iif', 'links'),
  interfaceIn('oif', 'links', true),
  packetTypeIs('multicast'),
  noRouteBack(),
  addressTypeIs('daddr', 'local'),
  addressTypeIs('saddr', 'unicast', true),
  [{ kind: 'fib', result: 'oif', flags: ['daddr'], dreg: 7 }],
  [{ kind: 'fib', result: 'type', flags: ['daddr', 'oif'], dreg: 1 }],
  [{ kind: 'fib', result: 'type', flags: ['saddr', 'iif'], dreg: 4 }],
  addressPairIn('ip', 'pairs'),
  hopsLeft('ip', 'lt', 2),
  isFragment(),
  isLaterFragment(),
  icmpTypeIs('ip', 5),
  redirectByPort('ip', 'host-ports'),
  [masquerade()],
  [{ kind: 'counter' }],
  [verdict('return')],
  [verdict('jump', 'other')],
  [verdict('goto', 'other')],
];

/** A small table with something of everything. */
function everything(): Op[] {
  return [
    addTable(),
    ...hooked('forward', 'web'),
    addChain('empty'),
    addSet(PEERS),
    addElements(PEERS, ['10.0.0.1', '10.0.0.2']),
    addSet(PORTS),
    addElements(PORTS, [['tcp . 80', { verdict: { kind: 'goto', chain: 'empty' } }]]),
    addChain('ports'),
    addRule('ports', protocolPortVmap('ip', 'ports')),
    addSet(PODS),
    addElements(PODS, [['10.0.0.1', { verdict: { kind: 'jump', chain: 'ports' }, comment: 'shop/web' }]]),
    addRule('forward', addressVmap('ip', 'saddr', 'pods')),
    addRule('web', addressIn('ip', 'saddr', 'peers')),
  ];
}

function recording(kernel: Kernel, committed: Set<Op['op']>): Kernel {
  return {
    missingFeatures: kernel.missingFeatures,
    queue: kernel.queue,
    dump: () => kernel.dump(),
    generation: () => kernel.generation(),
    owner: () => kernel.owner(),
    commit: async (ops, expected) => {
      const generation = await kernel.commit(ops, expected);
      for (const { op } of ops) committed.add(op);
      return generation;
    },
    close: () => kernel.close(),
  };
}
