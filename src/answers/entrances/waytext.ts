/** Ways from outside as they are shown. */
import { getOrMake } from '../../lib/collections/getormake.ts';
import { firstOf } from '../../lib/text/firstof.ts';
import { memberName } from '../../model/workload.ts';
import type { Entryway, EntrywayStep, Entryways } from './entryways.ts';

/** A sentence for each doubt, with the objects that it is about. */
export function doubtNotes({ doubts }: Entryways): readonly string[] {
  const objects = new Map<string, Set<string>>();
  for (const { text, object } of doubts) getOrMake(objects, text, () => new Set()).add(object);
  return [...objects].map(([text, some]) => `${firstOf([...some], MOST_NAMED)}: ${text}`);
}

const MOST_NAMED = 5;

/** Ways of several objects that say the same. */
export interface EntrywayGroup {
  readonly way: Entryway;
  /** `Ingress shop/web`. */
  readonly objects: readonly string[];
}

export function entrywayGroups({ ways }: Entryways): readonly EntrywayGroup[] {
  const found = new Map<string, { way: Entryway; objects: Set<string> }>();
  for (const way of ways) {
    const { controller, to, port, protocol } = way;
    const key = JSON.stringify([controller ?? '', to, port, protocol]);
    getOrMake(found, key, () => ({ way, objects: new Set<string>() })).objects.add(way.object);
  }
  return [...found.values()].map(({ way, objects }) => ({ way, objects: [...objects] }));
}

/** `internet -> ingress-nginx/controller -> shop/web:8080, by Ingress shop/web`, and why not. */
export function entrywayText({ way, objects }: EntrywayGroup): string {
  const { controller, steps, verdict, isAssumed, protocol, port, to } = way;
  const via = controller && `${memberName(controller)}${isAssumed ? ' (assumed)' : ''}`;
  const tail = protocol === 'TCP' ? `${port}` : `${port}/${protocol}`;
  const ends = [steps[0].from, ...(via ? [via] : []), `${memberName(to)}:${tail}`];
  const line = `${ends.join(' -> ')}, by ${firstOf(objects, MOST_NAMED)}`;
  const step = steps.find(each => each.verdict === verdict)!;
  if (verdict === 'allow') return line;
  const some = step.isPartial ? ' in part' : '';
  const which = step === steps[0] ? `${step.from} -> ${via}:${step.port}` : `${via} -> ${memberName(to)}`;
  const where = via ? ` at ${which}` : '';
  return `${line}: ${verdict === 'deny' ? `denied${some}` : 'undecided'}${where}: ${step.reason}`;
}

/** The same ways, as what could not be read may change them. */
export function entrywaysInDoubt({ ways, ...rest }: Entryways, why: string): Entryways {
  const doubtful = (step: EntrywayStep): EntrywayStep => ({ ...step, verdict: 'undecided', reason: why });
  return {
    ...rest,
    ways: ways.map(({ steps: [first, ...others], ...way }) => ({
      ...way,
      verdict: 'undecided',
      steps: [doubtful(first), ...others.map(doubtful)],
    })),
  };
}

/** The heading of a list of them. */
export const ENTRYWAYS = 'From outside';

/** As JSON. */
export function entrywayObject({ pods: _, endpoints: __, steps, ...way }: Entryway): object {
  return { ...way, steps: steps.map(stepObject) };
}

function stepObject({ families, ...step }: EntrywayStep): object {
  const { ip, ip6 } = families;
  return { ...step, families: { ...(ip && { ipv4: ip }), ...(ip6 && { ipv6: ip6 }) } };
}
