/**
 * Large policies are compiled by themselves: into a chain that all classes share, once for as long as the policy stays
 * the same. What they say is neither multiplied by the classes of the pods that they select, nor made again whenever
 * one of the other policies of those pods changes.
 */
import { type Policy, policyLabel } from '../model/policy.ts';
import { countEntriesOf } from '../model/policysize.ts';
import type { Verdict } from '../nft/ruleset.ts';
import { Builder } from './builder.ts';
import { type PodClass, portsOn } from './classes.ts';
import { sourcedRules } from './labelled.ts';
import { getOrMake } from './live/podindex.ts';
import { nameOf } from './names.ts';
import { runRules } from './run.ts';

/** Smaller ones are merged with all others into few look-ups. */
const LARGE = 256;

/** As many as that are merged, of all policies of a class: what is made in one go has to have an end. */
const MOST_MERGED = 6_000;

/** The policies of one tier that are compiled by themselves, of those that select the pods of a class. */
export function standingAlone(policies: readonly Policy[], { direction }: PodClass): ReadonlySet<Policy> {
  let merged = 0;
  const alone = policies.filter(policy => {
    const entries = countEntriesOf(policy[direction] ?? []);
    if (entries > LARGE || merged + entries > MOST_MERGED) return true;
    merged += entries;
    return false;
  });
  return new Set(alone);
}

/** The name of the chain that gives a verdict to all that the policy's rules match, and returns for all else. */
export function policyChain(policy: Policy, podClass: PodClass, verdict: Verdict, builder: Builder): string {
  const { name, made } = partOf(policy, podClass, verdict, builder);
  builder.include(made);
  return name;
}

/** Makes ready what `policyChain` adds. */
export function preparePolicy(policy: Policy, podClass: PodClass, verdict: Verdict, builder: Builder): void {
  partOf(policy, podClass, verdict, builder);
}

/** A policy's chain, and all that it needs. */
interface Part {
  readonly name: string;
  readonly made: Builder;
}

/** By policy, then by all that its chains depend on beside it. A policy that was written again is another object. */
const parts = new WeakMap<Policy, Map<string, Part>>();

function partOf(policy: Policy, podClass: PodClass, verdict: Verdict, place: Builder): Part {
  const { family, hearsAnswers } = place;
  const { direction } = podClass;
  const resolved = portsOn(podClass, [policy], direction);
  const key = `${family} ${direction} ${hearsAnswers} ${resolved.length === 0 ? '' : JSON.stringify(resolved)}`;
  const ofPolicy = parts.get(policy) ?? new Map<string, Part>();
  parts.set(policy, ofPolicy);
  return getOrMake(ofPolicy, key, () => {
    const prefix = direction === 'ingress' ? 'from' : 'to';
    const name = nameOf(prefix, JSON.stringify([direction, policy.id, resolved]), policyLabel(policy));
    return { name, made: makePart(name, policy, podClass, verdict, place) };
  });
}

function makePart(
  name: string,
  policy: Policy,
  podClass: PodClass,
  verdict: Verdict,
  { family, hearsAnswers }: Builder,
): Builder {
  const builder = new Builder(family, hearsAnswers);
  const rules = sourcedRules(policy, podClass.direction);
  const run = { verdict, mostCompares: 0, rules };
  builder.addChain({ name, rules: runRules(run, { podClass, chain: name, builder }) });
  return builder;
}
