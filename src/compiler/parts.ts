/**
 * Parts of classes that have a chain of their own: a large policy, or a bundle of small ones (shares.ts). All classes
 * share the part, and it is kept as long as its policies stay the same: its rules are neither repeated for each class
 * nor compiled again when another policy of the same pods changes.
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
import { runRulesInPieces } from './run.ts';

/** A chain that gives the verdict to packets that a rule of one of the policies matches, and returns for all others. */
export interface Part {
  /** A text of everything that the part depends on. */
  readonly key: string;
  /** The name of the part's chain. */
  readonly name: string;
  readonly policies: readonly Policy[];
  /** The chain, and the objects that it needs. */
  readonly made: Builder;
}

/** Builds classes of one family, and the parts that they share with others. */
export class ClassBuilder extends Builder {
  /** The parts that it uses. Each has chains, sets and groups of its own. */
  readonly shared = new Set<Part>();
  readonly #parts: Parts;

  /** `parts` are the parts that exist already. */
  constructor(family: Family, readsAnswers = false, parts = new Parts()) {
    super(family, readsAnswers);
    this.#parts = parts;
  }

  /** The part of these policies; compiled unless it exists. */
  part(policies: readonly Policy[], podClass: PodClass, verdict: NftVerdict): Part {
    return wholeOf(this.partInPieces(policies, podClass, verdict));
  }

  /** The part of these policies, compiled in pieces unless it exists. */
  *partInPieces(policies: readonly Policy[], podClass: PodClass, verdict: NftVerdict): Pieces<Part> {
    const part = yield* this.#parts.making(policies, podClass, verdict, this);
    this.shared.add(part);
    return part;
  }

  includeParts(): void {
    for (const { made } of this.shared) this.include(made);
  }
}

/** The parts that are in use. */
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

  /** Call when no class uses the part any more. */
  delete(part: Part): void {
    if (this.#parts.get(part.key) === part) this.#parts.delete(part.key);
  }
}

type ResolvedPorts = ReturnType<typeof portsOn>;

/** An edited policy is another object, and gets another number. */
function keyOf(
  policies: readonly Policy[],
  { direction }: PodClass,
  resolved: ResolvedPorts,
  { family, readsAnswers }: Builder,
): string {
  const ports = resolved.length === 0 ? '' : JSON.stringify(resolved);
  return `${family} ${direction} ${readsAnswers} ${numbersOf(policies)} ${ports}`;
}

const texts = new WeakMap<readonly Policy[], string>();

/** Cached for each list, because the builders of both families use the same one. */
function numbersOf(policies: readonly Policy[]): string {
  return getOrMake(texts, policies, () => policies.map(policy => factsOf(policy).number).join());
}

/** The name does not change when its policies are edited. */
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
  { family, readsAnswers }: Builder,
): Pieces<Builder> {
  const builder = new Builder(family, readsAnswers);
  builder.isForTenant = true;
  const rules = policies.flatMap(policy => sourcedRules(policy, podClass.direction));
  yield;
  const run = { verdict, mostCompares: 0, rules };
  builder.addChain({ name, rules: yield* runRulesInPieces(run, { podClass, chain: name, builder }) });
  return builder;
}
