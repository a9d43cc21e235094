/** Which step of a batch, and which of its elements, an error names. */
import { expect } from 'vitest';
import type { Kernel, KernelError } from '../../src/nft/kernel.ts';
import { verdict } from '../../src/nft/match.ts';
import type { Op } from '../../src/nft/plan/op.ts';
import type { ElementKey, SetSpec } from '../../src/nft/ruleset.ts';
import {
  addChain,
  addElements,
  addRule,
  addSet,
  addTable,
  delChain,
  delElements,
  delSet,
  type Entry,
  flushChain,
  PEERS,
  PODS,
  type PromiseOf,
} from './steps.ts';

const NETS: SetSpec = { name: 'nets', key: ['ipv4_addr'], verdicts: false, interval: true };
const RANGES: SetSpec = { name: 'ranges', key: ['inet_service'], verdicts: true, interval: true };
const TRIPLES: SetSpec = {
  name: 'triples',
  key: ['ipv6_addr', 'inet_proto', 'inet_service'],
  verdicts: false,
  interval: false,
};

const BASE: readonly Op[] = [
  addTable(),
  addChain('a'),
  addChain('b'),
  addChain('used'),
  addRule('a', [verdict('jump', 'used')]),
  ...[PEERS, PODS, NETS, RANGES, TRIPLES].map(set => addSet(set, 1 << 15)),
];

export function naming(promise: PromiseOf): void {
  promise('an error names the first step that is refused, of whatever kind', async kernel => {
    await kernel.commit(BASE);
    for (const wrong of WRONG) {
      const ops = [addChain('x'), wrong, addChain('y'), delChain('nobody'), delSet('nothing')];
      const error = await refusal(kernel, ops);
      expect(ops.indexOf(error.op!), error.message).toBe(1);
    }
  });

  for (const [what, { set, entries, wrong }] of Object.entries(elementCases()))
    promise(`an error names the one of many elements that is refused: ${what}`, async kernel => {
      await kernel.commit([...BASE, addElements(set, [wrong.standing])]);
      const at = Math.floor(entries.length * 0.7);
      const added = entries.toSpliced(at, 0, wrong.added);
      await named(kernel, addElements(set, added), keyOf(wrong.added));
      const deleted = [keyOf(wrong.standing), keyOf(wrong.missing), keyOf(entries[0]!)];
      await named(kernel, delElements(set, deleted), deleted[1]!);
    });

  promise('a key that cannot be written is named, with its step', async kernel => {
    await kernel.commit(BASE);
    await named(kernel, addElements(PEERS, ['10.0.0.1', '10.0.0', '10.0.0.2']), '10.0.0');
    await named(kernel, delElements(PEERS, ['10.0.0.256']), '10.0.0.256');
    await named(kernel, addElements(NETS, ['10.0.0.0/8', 'fd00::/8']), 'fd00::/8');
    await named(kernel, addElements(TRIPLES, ['fd00::1 . tcp . 80', 'fd00::1 . 80']), 'fd00::1 . 80');
  });

  promise('a comment that is too long is named by its element', async kernel => {
    await kernel.commit(BASE);
    const long: Entry = ['10.0.0.2', { comment: 'c'.repeat(200) }];
    await named(kernel, addElements(PEERS, ['10.0.0.1', long, '10.0.0.3']), '10.0.0.2');
  });

  promise('an error about a rule says which policy it is from', async kernel => {
    await kernel.commit(BASE);
    const rule = { exprs: [verdict('jump', 'nobody')], comment: 'shop/allow-web ingress' };
    const error = await refusal(kernel, [{ op: 'addRule', family: 'ip', chain: 'a', rule }]);
    expect(error.message).toMatch(/^ENOENT: add rule ip sluice a \(shop\/allow-web ingress\): /);
  });
}

/** A step of every kind, each refused. */
const WRONG: readonly Op[] = [
  addTable(),
  { op: 'delTable', family: 'ip6' },
  addSet(PEERS),
  delSet('missing'),
  addChain('a'),
  delChain('used'),
  flushChain('missing'),
  addRule('a', [verdict('jump', 'missing')]),
  addRule(
    'a',
    Array.from({ length: 200 }, () => ({ kind: 'counter' })),
  ),
  addRule('a', [{ kind: 'unknown', name: 'queue' }]),
  addElements(PODS, [['10.0.0.1', { verdict: { kind: 'goto', chain: 'missing' } }]]),
  delElements(PEERS, ['10.0.0.1']),
];

interface ElementCase {
  readonly set: SetSpec;
  readonly entries: readonly Entry[];
  readonly wrong: {
    readonly standing: Entry;
    /** Refused beside it. */
    readonly added: Entry;
    readonly missing: Entry;
  };
}

const goto = (chain: string) => ({ verdict: { kind: 'goto', chain } as const });

/** So many that each is several messages. */
function elementCases(): Record<string, ElementCase> {
  const count = Array.from({ length: 9000 }, (_, n) => n);
  return {
    verdicts: {
      set: PODS,
      entries: count.map(n => [`10.0.${n >> 8}.${n & 255}`, goto(n % 2 ? 'a' : 'b')]),
      wrong: {
        standing: ['10.9.0.1', goto('a')],
        added: ['10.9.0.1', goto('b')],
        missing: ['10.9.0.2', goto('a')],
      },
    },
    networks: {
      set: NETS,
      entries: count.map(n => [`10.${n >> 8}.${n & 255}.0/25`, {}]),
      wrong: {
        standing: ['11.0.0.0/8', {}],
        added: ['11.1.0.0/16', {}],
        missing: ['12.0.0.0/8', {}],
      },
    },
    'port ranges': {
      set: RANGES,
      entries: count.slice(0, 6000).map(n => [`${4 * n}-${4 * n + 2}`, goto('a')]),
      wrong: {
        standing: ['50000-65535', goto('a')],
        added: ['60000-60010', goto('b')],
        missing: ['40000-40001', goto('a')],
      },
    },
    'a target that is missing': {
      set: PODS,
      entries: count.map(n => [`10.0.${n >> 8}.${n & 255}`, goto('a')]),
      wrong: {
        standing: ['10.9.0.1', goto('a')],
        added: ['10.9.0.3', goto('missing')],
        missing: ['10.9.0.2', goto('a')],
      },
    },
  };
}

const keyOf = ([key]: Entry): ElementKey => key;

async function named(kernel: Kernel, op: Op, key: ElementKey): Promise<void> {
  const error = await refusal(kernel, [addChain('x'), op, addChain('y')]);
  expect(error.op, error.message).toBe(op);
  expect(error.key).toBe(key);
  expect(error.message).toContain(`element ${key} `);
}

async function refusal(kernel: Kernel, ops: readonly Op[]): Promise<KernelError> {
  const error = await kernel.commit(ops).then(
    () => expect.fail('the batch went in'),
    (error: unknown) => error as KernelError,
  );
  expect(error, String(error)).toMatchObject({ name: 'KernelError' });
  return error;
}
