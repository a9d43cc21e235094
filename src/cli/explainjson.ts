/** The answers of `sluice explain` for programs: docs/schema/sluice-v1.json says what is in them. */
import { endHost } from '../answers/questions/answer.ts';
import { groupsOf } from '../answers/questions/groups.ts';
import { type Case, withNames } from '../answers/questions/judge.ts';
import type { NearMiss } from '../answers/questions/nearmiss.ts';
import type { Family } from '../model/address.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import type { Direction } from '../model/policy.ts';
import type { DnsRecord } from '../names/dnscache.ts';
import { type DirectionWalk, walk } from '../semantics/explain.ts';
import type { Asked } from './asked.ts';
import { fixObject, fixOf, nearMissesOf } from './fixtext.ts';
import { versioned } from './schema.ts';

export function answerObject(
  asked: Asked,
  unknownPods: UnknownPods,
  notes: readonly string[],
  withFix = false,
): object {
  if ('error' in asked) {
    const { question, error } = asked;
    const words = 'line' in question ? { line: question.line } : { from: question.from, to: question.to };
    return versioned('Explanation', { ...words, error });
  }
  const { question, verdict, reason, families, differsBy, cases, decisive, cluster, resolved } = asked.answer;
  const way = decisive && walk(cluster, decisive.flow, unknownPods);
  return versioned('Explanation', {
    from: endHost(question.from),
    to: endHost(question.to),
    ...(decisive && { port: decisive.flow.port, protocol: decisive.flow.protocol }),
    verdict,
    reason,
    families: Object.fromEntries(
      Object.entries(families).map(([family, word]) => [FAMILY_WORDS[family as Family], word]),
    ),
    differsBy,
    ...(decisive &&
      way && {
        addresses: addressesOf(decisive),
        egress: directionObject(way.egress, decisive),
        ingress: directionObject(way.ingress, decisive),
      }),
    cases: groupsOf(cases).map(({ families: over, ...group }) => ({
      ...group,
      families: over.map(family => FAMILY_WORDS[family]),
    })),
    nearly: (['egress', 'ingress'] as const).flatMap(direction =>
      nearMissesOf(asked.answer, direction, unknownPods).map(miss => missObject(direction, miss, decisive!)),
    ),
    ...(withFix && { fix: fixObject(fixOf(asked.answer, unknownPods)) }),
    notes: [...notes, ...asked.answer.notes],
    ...(resolved.length > 0 && { told: resolved.map(recordObject) }),
  });
}

function recordObject({ pod, name, oneOf, address, from, toldMs, untilMs }: DnsRecord): object {
  return {
    pod,
    ...(oneOf === undefined ? { name } : { oneOf }),
    address,
    ...(from && { from }),
    toldAt: new Date(toldMs).toISOString(),
    until: new Date(untilMs).toISOString(),
  };
}

const FAMILY_WORDS: Record<Family, 'ipv4' | 'ipv6'> = { ip: 'ipv4', ip6: 'ipv6' };

/** None that only stands for an end whose own nobody knows. */
function addressesOf({ flow, fromRange, toRange }: Case): object {
  return { ...(!fromRange && { from: flow.from }), ...(!toRange && { to: flow.to }) };
}

function directionObject({ pod, verdict, stops }: DirectionWalk, decisive: Case): object {
  const named = stops.map(stop => ({ ...stop, ...(stop.text && { text: withNames(stop.text, decisive) }) }));
  return { ...(pod && { pod }), ...verdict, reason: withNames(verdict.reason, decisive), stops: named };
}

function missObject(direction: Direction, { needs, ...miss }: NearMiss, decisive: Case): object {
  return { direction, ...miss, needs: needs.map(need => withNames(need, decisive)) };
}
