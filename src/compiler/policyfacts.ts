/** What each class asks of each of its policies: found once of a policy, which many classes have. */
import { hash } from 'node:crypto';
import { getOrMake } from '../lib/collections/getormake.ts';
import type { Direction, Policy } from '../model/policy.ts';
import { countEntriesOf } from '../model/policysize.ts';

export class PolicyFacts {
  readonly policy: Policy;
  /** No other has it; a policy that was written again is another. */
  readonly number: number;
  readonly entries: Readonly<Record<Direction, number>>;
  #place: Place | undefined;

  constructor(policy: Policy) {
    const { ingress = [], egress = [] } = policy;
    this.policy = policy;
    this.number = next++;
    this.entries = { ingress: countEntriesOf(ingress), egress: countEntriesOf(egress) };
  }

  /** Where it is among others; of most policies nobody asks. */
  get place(): Place {
    this.#place ??= placeOf(this.policy);
    return this.#place;
  }
}

/** The first 32 bits of a hash of its subject, and 64 of one of its name. */
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
