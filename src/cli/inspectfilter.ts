/** What of an inspection is about a pod, a namespace or a policy. */
import { labelOf } from '../model/policyname.ts';
import type { Inspection, PodInspection } from '../readback/inspection.ts';
import { CommandError } from '../terminal/commanderror.ts';

/** Of a pod (`shop/web`), a namespace (`shop`) or a policy (`NetworkPolicy shop/web`). Throws CommandError where nothing is. */
export function onlyAbout(inspection: Inspection, what: string | undefined): Inspection {
  if (what === undefined) return inspection;
  const pods = inspection.pods.filter(pod => isMeant(pod, what));
  if (pods.length === 0)
    throw new CommandError(
      `no pod of this node is ${what}, is in it, or is judged by it: sluice inspect shows all`,
    );
  return { ...inspection, pods };
}

function isMeant({ pod, ingress, egress }: PodInspection, what: string): boolean {
  if (pod === what || pod.startsWith(`${what}/`)) return true;
  const rules = [...(ingress?.rules ?? []), ...(egress?.rules ?? [])];
  const label = labelOf(what);
  return rules.some(({ source = '' }) => source.split(/[ ,]+/).includes(label));
}
