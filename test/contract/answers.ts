/** What answers of DNS wait by, and what control packets turn into elements: queues, words of conntrack, timeouts. */
import { expect } from 'vitest';
import { addressType, loadSource, update, verdict } from '../../src/nft/match.ts';
import {
  changeAddressPair,
  changeDestinationPort,
  isReply as isAnswer,
  l4ProtocolIs,
  markIsNot,
  originalDestinationIn,
  originalPortIs,
  portsVmap,
  queueTo,
  sourcePortIn,
} from '../../src/nft/matchanswers.ts';
import { noRouteBack } from '../../src/nft/matchinterface.ts';
import type { Op } from '../../src/nft/plan/op.ts';
import type { Expr, Family, QueueBy, SetSpec } from '../../src/nft/ruleset.ts';
import {
  actualState,
  addChain,
  addElements,
  addRule,
  addSet,
  addTable,
  chain,
  delSet,
  PEERS,
  type PromiseOf,
  refused,
} from './steps.ts';

const PLAIN = { verdicts: false, interval: false } as const;
const ALIVE: SetSpec = { ...PLAIN, name: 'alive', key: ['inet_service'], dynamic: { size: 16 } };
const COMMANDS: SetSpec = {
  name: 'commands',
  key: ['inet_service', 'inet_service'],
  verdicts: true,
  interval: false,
};
const MINUTES = 600_000;

export function answers(promise: PromiseOf): void {
  for (const family of ['ip', 'ip6'] as const)
    promise(
      `rules that have answers wait, and those of control packets, come back, in ${family}`,
      async kernel => {
        const [told, asked] = setsOf(family);
        const rules = rulesOf(family, kernel.queue);
        await kernel.commit([
          addTable(family),
          addSet(told, 64, family),
          addSet(asked, 64, family),
          addSet(ALIVE, 16, family),
          addSet(COMMANDS, 16, family),
          addChain('learn', family),
          addChain('c', family),
          addElements(COMMANDS, [['32768 . 2', { verdict: { kind: 'goto', chain: 'learn' } }]], family),
          ...rules.map((exprs): Op => ({ op: 'addRule', family, chain: 'c', rule: { exprs } })),
        ]);
        const { sets, chains } = (await actualState(kernel)).tables.get(family)!;
        expect(chains.get('c')).toEqual(chain('c', ...rules.map(exprs => ({ exprs }))));
        expect(sets.get(told.name)).toEqual({ ...told, elements: new Map() });
      },
    );

  promise('an element is given its time only in a set that packets may change', async kernel => {
    await kernel.commit([addTable(), addSet(PEERS), addChain('c')]);
    const rule = addRule('c', [loadSource('ip'), update('peers', { timeoutMs: MINUTES })]);
    await refused(kernel, 'EOPNOTSUPP', [rule], 0);
  });

  promise('a set that control packets put into is in use', async kernel => {
    const [told] = setsOf('ip');
    const change = { op: 'update', set: told.name, timeoutMs: MINUTES } as const;
    await kernel.commit([
      addTable(),
      addSet(told, 64),
      addChain('c'),
      addRule('c', [...changeAddressPair('ip', change), verdict('drop')]),
    ]);
    await refused(kernel, 'EBUSY', [delSet(told.name)], 0);
  });
}

function setsOf(family: Family): readonly [SetSpec, SetSpec] {
  const address = addressType(family);
  return [
    { ...PLAIN, name: 'told', key: [address, address], dynamic: { size: 64 } },
    { ...PLAIN, name: 'asked', key: [address] },
  ];
}

/** Without a queue where the kernel has none. */
function rulesOf(family: Family, queue: QueueBy | undefined): Expr[][] {
  return [
    [...markIsNot(0x534c5543), verdict('return')],
    portsVmap(COMMANDS.name),
    [...changeAddressPair(family, { op: 'update', set: 'told', timeoutMs: MINUTES }), verdict('drop')],
    [...changeAddressPair(family, { op: 'delete', set: 'told' }), verdict('drop')],
    [...changeDestinationPort({ op: 'update', set: 'alive', timeoutMs: 2_000 }), verdict('drop')],
    [...noRouteBack(), verdict('return')],
    [
      ...l4ProtocolIs('udp'),
      ...isAnswer(),
      ...originalPortIs(53),
      ...originalDestinationIn(family, 'asked'),
      verdict('return'),
    ],
    [...sourcePortIn('alive', true), verdict('return')],
    ...(queue === undefined ? [] : [queueTo(53, queue)]),
  ];
}
