/** What each class asks of each of its policies: found once of a policy, which many classes have. */
import { hash } from 'node:crypto';
import { getOrMake } from '../model/getormake.ts';
import type { Direction, Policy } from '../model/policy.ts';
import { countEntriesOf } from '../model/policysize.ts';

export interface PolicyFacts {
  readonly policy: Policy;
  /** No other has it; a policy that was written again is another. */
  readonly number: number;
  readonly entries: Readonly<Record<Direction, number>>;
  /** Where it is among others: the first 32 bits of a hash of its subject, and 64 of one of its name. */
  readonly place: readonly [number, number, number];
}

const known = new WeakMap<Policy, PolicyFacts>();
let next = 0;

export function factsOf(policy: Policy): PolicyFacts {
  return getOrMake(known, policy, () => newFacts(policy));
}

function newFacts(policy: Policy): PolicyFacts {
  const { id, subject, ingress = [], egress = [] } = policy;
  const [ofSubject, ofName] = [hashOf(JSON.stringify(subject)), hashOf(id)];
  return {
    policy,
    number: next++,
    entries: { ingress: countEntriesOf(ingress), egress: countEntriesOf(egress) },
    place: [ofSubject.readInt32BE(0), ofName.readInt32BE(0), ofName.readInt32BE(4)],
  };
}

function hashOf(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
