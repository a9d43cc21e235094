/**
 * Large policies are compiled by themselves: into a chain that all classes share, once for as long as the policy stays
 * the same. What they say is neither multiplied by the classes of the pods that they select, nor made again whenever
 * one of the other policies of those pods changes.
 */
import { type Policy, policyLabel } from '../model/policy.ts';
import { countEntriesOf } from '../model/policysize.ts';
import type { Verdict } from '../nft/ruleset.ts';
import { Builder } from './builder.ts';
import { type PodClass, resolvedPorts } from './classes.ts';
import { sourcedRules } from './labelled.ts';
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
  const { direction } = podClass;
  const resolved = direction === 'ingress' ? resolvedPorts([policy], podClass.resolve) : [];
  const prefix = direction === 'ingress' ? 'from' : 'to';
  const name = nameOf(prefix, JSON.stringify([direction, policy.id, resolved]), policyLabel(policy));
  builder.include(partOf(policy, podClass, name, verdict, builder));
  return name;
}

/** By policy: what its chains need, by family and name. A policy that was written again is another object. */
const parts = new WeakMap<Policy, Map<string, Builder>>();

function partOf(
  policy: Policy,
  podClass: PodClass,
  name: string,
  verdict: Verdict,
  { family }: Builder,
): Builder {
  const ofPolicy = parts.get(policy) ?? new Map<string, Builder>();
  parts.set(policy, ofPolicy);
  const key = `${family} ${name}`;
  const known = ofPolicy.get(key);
  if (known !== undefined) return known;
  const part = new Builder(family);
  const place = { podClass, chain: name, builder: part };
  const rules = sourcedRules(policy, podClass.direction);
  part.addChain({ name, rules: runRules({ verdict, mostCompares: 0, rules }, place) });
  ofPolicy.set(key, part);
  return part;
}
