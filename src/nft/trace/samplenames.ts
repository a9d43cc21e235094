/** What rules for answers of DNS are made of, beside `sample`, whose chain `rules` it adds to. */
import { addressType, verdict } from '../match.ts';
import {
  answers,
  askedAddressIn,
  askedPort,
  changeAnswered,
  changeDestination,
  l4ProtocolIs,
  markIsNot,
  portsVmap,
  queueTo,
  sourcePortIn,
  sourcePortIs,
} from '../matchanswers.ts';
import { noRouteBack } from '../matchinterface.ts';
import type { Op } from '../plan/op.ts';
import type { Expr, Family, FieldType, QueueBy, SetSpec } from '../ruleset.ts';

export function sampleOfNames(family: Family, by: QueueBy): Op[] {
  const address = addressType(family);
  const asked = set('asked', [address]);
  const told = { ...set('told', [address, address]), dynamic: { size: 256 } };
  const busy = { ...set('busy', [address]), dynamic: { size: 256, timeoutMs: 10_000 } };
  const alive = { ...set('alive', ['inet_service']), dynamic: { size: 16 } };
  const commands = { ...set('commands', ['inet_service', 'inet_service']), verdicts: true };
  return [
    ...[asked, told, busy, alive, commands].map(
      (spec): Op => ({ op: 'addSet', family, set: spec, size: spec.dynamic?.size ?? 256 }),
    ),
    ...rules(family, by).map(
      (exprs): Op => ({ op: 'addRule', family, chain: 'rules', rule: { exprs, comment: 'sample' } }),
    ),
  ];
}

function rules(family: Family, by: QueueBy): Expr[][] {
  const over = { perSecond: 1_000, burst: 2_000 };
  return [
    [...sourcePortIs(53), ...sourcePortIn('alive', true), verdict('return')],
    [...noRouteBack(), verdict('return')],
    [
      ...l4ProtocolIs('udp'),
      ...answers(),
      ...askedPort(53),
      ...askedAddressIn(family, 'asked'),
      verdict('return'),
    ],
    [...markIsNot(1), verdict('return')],
    portsVmap('commands'),
    [...changeDestination(family, { op: 'update', set: 'busy', over }), verdict('return')],
    [...changeAnswered(family, { op: 'update', set: 'told', timeoutMs: 600_000 }), verdict('drop')],
    [...changeAnswered(family, { op: 'delete', set: 'told' }), verdict('drop')],
    queueTo(53, by),
  ];
}

function set(name: string, key: readonly FieldType[]): SetSpec & { dynamic?: { size: number } } {
  return { name, key, verdicts: false, interval: false, comment: 'sample' };
}
