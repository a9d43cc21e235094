/** What of an inspection is about a pod, a namespace or a policy. */

import type { Inspection, PodInspection } from '../answers/readback/inspection.ts';
import { didYouMean } from '../lib/text/didyoumean.ts';
import type { PodKey } from '../model/cluster.ts';
import { labelOf } from '../model/policyname.ts';
import { CommandError } from '../terminal/commanderror.ts';
import type { Expected } from './findexpected.ts';

/**
 * Of a pod (`shop/web`), a namespace (`shop`) or a policy (`NetworkPolicy shop/web`). Throws CommandError where nothing is,
 * and says why as far as the cluster is known.
 */
export function onlyAbout(
  inspection: Inspection,
  what: string | undefined,
  known?: Pick<Expected, 'cluster' | 'node'>,
): Inspection {
  if (what === undefined) return inspection;
  const pods = inspection.pods.filter(pod => isMeant(pod, what));
  if (pods.length === 0) throw new CommandError(whyNothing(inspection, what, known));
  return { ...inspection, pods };
}

function whyNothing(
  { pods }: Inspection,
  what: string,
  known: Pick<Expected, 'cluster' | 'node'> | undefined,
): string {
  const pod = known?.cluster.pods.get(what as PodKey);
  if (pod !== undefined && pod.node === known!.node)
    return `pod ${what} is of this node, and no policy that is programmed selects it`;
  const names = new Set(pods.flatMap(each => [each.pod, each.pod.slice(0, each.pod.indexOf('/'))]));
  const close = didYouMean(what, [...names]);
  const hint =
    pod !== undefined
      ? `it is of ${pod.node || 'no node yet'}`
      : close === undefined
        ? 'sluice inspect shows all'
        : `did you mean ${close}?`;
  return `no pod of this node is ${what}, is in it, or is judged by it: ${hint}`;
}

function isMeant({ pod, ingress, egress }: PodInspection, what: string): boolean {
  if (pod === what || pod.startsWith(`${what}/`)) return true;
  const rules = [...(ingress?.rules ?? []), ...(egress?.rules ?? [])];
  const label = labelOf(what);
  return rules.some(({ source = '' }) => source.split(/[ ,]+/).includes(label));
}
