/** What a question could not read, and what its answer lacks by it. */

import type { Resource } from '../watch/resource.ts';
import { pluralOf } from './askedresources.ts';

export interface Lack {
  /** `networkpolicies`. */
  readonly resource: string;
  /** Those that could be read all the same, where not all could. */
  readonly only: readonly string[];
  /** In the words of the server. */
  readonly reason: string;
  /** What follows, as the rest of a sentence. */
  readonly effect: string;
  /** Whether there may be policies that nobody looked at: then no verdict is one. */
  readonly hidesPolicies: boolean;
}

export function lackOf(resource: Resource, only: readonly string[], reason: string): Lack {
  const hidesPolicies = resource.kind.endsWith('NetworkPolicy');
  const effect = hidesPolicies ? HIDDEN_POLICY : (EFFECTS[resource.kind] ?? OTHER);
  return { resource: pluralOf(resource), only, reason, effect, hidesPolicies };
}

const HIDDEN_POLICY = 'a policy that nobody could look at may decide otherwise: what follows is no verdict';

const EFFECTS: Readonly<Record<string, string>> = {
  Pod: 'the others are not known: their addresses are judged as those of no pod',
  Namespace:
    'their labels are not known: a rule that selects namespaces by label allows nothing, and may deny',
  Node: 'they are not known: their addresses are judged as those of anybody outside, and rules about nodes match nothing',
  Service: 'an address may be that of a Service, which nobody could follow',
  EndpointSlice: "a Service's endpoints are taken from its selector",
};

const OTHER = 'they cannot be asked about by name, and their pods count as those of what they made';

/** `you may not list networkpolicies: …; what follows …`. */
export function lackText({ resource, only, reason, effect }: Lack): string {
  const but = only.length === 0 ? '' : `, but in ${only.join(', ')}`;
  return `you may not list ${resource}${but} (${reason}): ${effect}`;
}
