/**
 * Parts of classes that have a chain of their own: a large policy, or a bundle of small ones (shares.ts). All classes
 * share it, and it is made once for as long as its policies stay the same: what they say is neither multiplied by the
 * classes of the pods that they select, nor made again whenever another policy of those pods changes.
 */

import { getOrMake } from '../lib/collections/getormake.ts';
import { type Pieces, wholeOf } from '../lib/collections/pieces.ts';
import type { Family } from '../model/address.ts';
import { type Policy, policyLabel } from '../model/policy.ts';
import type { NftVerdict } from '../nft/ruleset.ts';
import { Builder } from './builder.ts';
import { idOf, type PodClass, portsOn } from './classes.ts';
import { sourcedRules } from './labelled.ts';
import { hashedName } from './names.ts';
import { factsOf } from './policyfacts.ts';
import { runningRules } from './run.ts';

/** The chain gives a verdict to all that one of the policies' rules matches, and returns for all else. */
export interface Part {
  /** Of all that it depends on. */
  readonly key: string;
  /** The chain's name. */
  readonly name: string;
  readonly policies: readonly Policy[];
  /** The chain, and all that it needs. */
  readonly made: Builder;
}

/** Builds classes of one family, with what they share with others. */
export class ClassBuilder extends Builder {
  /** Each has chains, sets and groups of its own. */
  readonly shared = new Set<Part>();
  readonly #parts: Parts;

  /** `parts` are those that are made already. */
  constructor(family: Family, hearsAnswers = false, parts = new Parts()) {
    super(family, hearsAnswers);
    this.#parts = parts;
  }

  /** The part of these policies, made unless it is. */
  part(policies: readonly Policy[], podClass: PodClass, verdict: NftVerdict): Part {
    return wholeOf(this.making(policies, podClass, verdict));
  }

  /** The same, made in pieces. */
  *making(policies: readonly Policy[], podClass: PodClass, verdict: NftVerdict): Pieces<Part> {
    const part = yield* this.#parts.making(policies, podClass, verdict, this);
    this.shared.add(part);
    return part;
  }

  includeParts(): void {
    for (const { made } of this.shared) this.include(made);
  }
}

/** Those that are in use. */
export class Parts {
  readonly #parts = new Map<string, Part>();

  *making(
    policies: readonly Policy[],
    podClass: PodClass,
    verdict: NftVerdict,
    place: Builder,
  ): Pieces<Part> {
    const resolved = portsOn(podClass, policies, podClass.direction);
    const key = keyOf(policies, podClass, resolved, place);
    const known = this.#parts.get(key);
    if (known !== undefined) return known;
    const name = partName(policies, podClass, resolved);
    const made = yield* makingPart(name, policies, podClass, verdict, place);
    const part: Part = { key, name, policies, made };
    this.#parts.set(key, part);
    return part;
  }

  get size(): number {
    return this.#parts.size;
  }

  /** Nobody uses it any more. */
  delete(part: Part): void {
    if (this.#parts.get(part.key) === part) this.#parts.delete(part.key);
  }
}

type ResolvedPorts = ReturnType<typeof portsOn>;

/** A policy that was written again is another object. */
function keyOf(
  policies: readonly Policy[],
  { direction }: PodClass,
  resolved: ResolvedPorts,
  { family, hearsAnswers }: Builder,
): string {
  const ports = resolved.length === 0 ? '' : JSON.stringify(resolved);
  return `${family} ${direction} ${hearsAnswers} ${numbersOf(policies)} ${ports}`;
}

const texts = new WeakMap<readonly Policy[], string>();

/** The builders of both families ask for one list. */
function numbersOf(policies: readonly Policy[]): string {
  return getOrMake(texts, policies, () => policies.map(policy => factsOf(policy).number).join());
}

/** The same however its policies are edited. */
function partName(policies: readonly Policy[], { direction }: PodClass, resolved: ResolvedPorts): string {
  const prefix = direction === 'ingress' ? 'from' : 'to';
  const others = policies.length > 1 ? `-and-${policies.length - 1}-more` : '';
  const definition = JSON.stringify([direction, policies.map(idOf), resolved]);
  return hashedName(prefix, definition, policyLabel(policies[0]!) + others);
}

function* makingPart(
  name: string,
  policies: readonly Policy[],
  podClass: PodClass,
  verdict: NftVerdict,
  { family, hearsAnswers }: Builder,
): Pieces<Builder> {
  const builder = new Builder(family, hearsAnswers);
  builder.isForTenant = true;
  const rules = policies.flatMap(policy => sourcedRules(policy, podClass.direction));
  yield;
  const run = { verdict, mostCompares: 0, rules };
  builder.addChain({ name, rules: yield* runningRules(run, { podClass, chain: name, builder }) });
  return builder;
}
