/** Properties of a policy that each of its classes needs: computed once for each policy. */
import { hash } from 'node:crypto';
import { getOrMake } from '../lib/collections/getormake.ts';
import type { Direction, Policy } from '../model/policy.ts';
import { countEntriesOf } from '../model/policysize.ts';

export class PolicyFacts {
  readonly policy: Policy;
  /** Unique for each policy object: an edited policy is another object. */
  readonly number: number;
  readonly entries: Readonly<Record<Direction, number>>;
  #place: Place | undefined;

  constructor(policy: Policy) {
    const { ingress = [], egress = [] } = policy;
    this.policy = policy;
    this.number = next++;
    this.entries = { ingress: countEntriesOf(ingress), egress: countEntriesOf(egress) };
  }

  /** Where the policy comes in the order of bundles. Most policies do not need it. */
  get place(): Place {
    this.#place ??= placeOf(this.policy);
    return this.#place;
  }
}

/** The first 32 bits of a hash of the subject, and the first 64 bits of a hash of the name. */
type Place = readonly [number, number, number];

const known = new WeakMap<Policy, PolicyFacts>();
let next = 0;

export function factsOf(policy: Policy): PolicyFacts {
  return getOrMake(known, policy, () => new PolicyFacts(policy));
}

function placeOf({ id, subject }: Policy): Place {
  const [ofSubject, ofName] = [hashOf(JSON.stringify(subject)), hashOf(id)];
  return [ofSubject.readInt32BE(0), ofName.readInt32BE(0), ofName.readInt32BE(4)];
}

function hashOf(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
