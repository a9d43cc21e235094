/**
 * Compiles a class into chains. The rules follow the API's documentation from top to bottom: the Admin tier by
 * precedence, then NetworkPolicy, which always decides, or the Baseline tier if no NetworkPolicy isolates the pods in
 * this direction.
 */
import { getOrMake } from '../lib/collections/getormake.ts';
import type { Pieces } from '../lib/collections/pieces.ts';
import type { Policy, Rule as PolicyRule, Tier } from '../model/policy.ts';
import { policyLabel } from '../model/policy.ts';
import type { NftRule, NftVerdict } from '../nft/ruleset.ts';
import { classKey, type PodClass } from './classes.ts';
import { DENY } from './denied.ts';
import { type SourcedRule, sourcedRules } from './labelled.ts';
import { commentOfFirst, hashedName } from './names.ts';
import type { ClassBuilder, Part } from './parts.ts';
import { type Run, runRules } from './run.ts';
import { type Shares, sharesOf } from './shares.ts';

/** The chain where an allowed egress packet goes on. It ends in a verdict, so a `goto` to it never returns. */
export const INGRESS_CHAIN = 'ingress';

const classNames = new WeakMap<PodClass, string>();

/** The class's name in the kernel: `in-K3Q7ABCD-shop/web`. */
export function className(podClass: PodClass): string {
  return getOrMake(classNames, podClass, () => newClassName(podClass));
}

function newClassName(podClass: PodClass): string {
  const { direction, policies } = podClass;
  const first = policies.find(({ tier }) => tier === 'networkpolicy') ?? policies[0]!;
  const others = policies.length > 1 ? `-and-${policies.length - 1}-more` : '';
  return hashedName(direction === 'ingress' ? 'in' : 'eg', classKey(podClass), policyLabel(first) + others);
}

/**
 * Adds the class's chains, and all objects that they need, to the builder. `shares` says which of its NetworkPolicies
 * it shares with other classes.
 */
export function buildClass(podClass: PodClass, shares: Shares, name: string, builder: ClassBuilder): void {
  const [admin, next] = tiersOf(podClass, shares);
  const nextName = `${name}-${next?.tier ?? 'default'}`;
  const passes = admin?.runs.some(({ action }) => action === 'pass') ?? false;
  if (passes && next !== undefined) {
    const rules = tierRules(next, podClass, nextName, builder);
    builder.addChain({ name: nextName, rules: untilDecided(rules) });
  }
  builder.addChain({ name, rules: untilDecided(mainRules()) });

  function mainRules(): NftRule[] {
    const allowed = allow(podClass);
    const passVerdict: NftVerdict = next === undefined ? allowed : { kind: 'goto', chain: nextName };
    const adminRules = admin === undefined ? [] : actionRules(admin, passVerdict, podClass, name, builder);
    if (next === undefined) return [...adminRules, plain(allowed)];
    return [...adminRules, ...(passes ? [plain(passVerdict)] : tierRules(next, podClass, name, builder))];
  }
}

/**
 * Compiles the parts that the class shares with others, one after the other, so that `buildClass` finds them. Parts
 * that exist already take no piece.
 */
export function* prepareInPieces(podClass: PodClass, { parts }: Shares, builder: ClassBuilder): Pieces<void> {
  for (const policies of parts) yield* builder.partInPieces(policies, podClass, allow(podClass));
}

/**
 * Which of the class's NetworkPolicies are merged and which are parts. They only allow, so their order does not matter;
 * in the other tiers it does.
 */
export function sharesIn({ policies, direction }: PodClass, isBundled: boolean): Shares {
  const chosen = policies.filter(({ tier }) => tier === 'networkpolicy');
  return sharesOf(chosen, direction, isBundled);
}

/** Rules behind a rule without a condition are never reached: they are left out for the reader. */
function untilDecided(rules: readonly NftRule[]): readonly NftRule[] {
  const decides = rules.findIndex(
    ({ exprs: [first] }) => first?.kind === 'verdict' && first.verdict.kind !== 'jump',
  );
  return decides < 0 ? rules : rules.slice(0, decides + 1);
}

/** The beginning of the comment of the rule that ends the NetworkPolicy tier. */
export const ISOLATED = 'isolated by ';

interface TierRuns {
  readonly tier: Tier;
  readonly policies: readonly Policy[];
  /** The policies that have chains of their own. */
  readonly parts: Shares['parts'];
  readonly runs: readonly ActionRun[];
}

interface ActionRun {
  readonly action: PolicyRule['action'];
  readonly rules: readonly SourcedRule[];
}

/** The runs of the Admin tier, and of the one tier that follows it (C5, C7, C8). */
function tiersOf(podClass: PodClass, shares: Shares): [TierRuns | undefined, TierRuns | undefined] {
  const tier = (tier: Tier) => runsOf(podClass, tier, tier === 'networkpolicy' ? shares : undefined);
  return [tier('admin'), tier('networkpolicy') ?? tier('baseline')];
}

function runsOf({ policies, direction }: PodClass, tier: Tier, shares?: Shares): TierRuns | undefined {
  const chosen = policies.filter(policy => policy.tier === tier);
  if (chosen.length === 0) return undefined;
  const { merged, parts } = shares ?? { merged: chosen, parts: [] };
  const rules = merged.flatMap(policy => sourcedRules(policy, direction));
  return { tier, policies: chosen, parts, runs: inRuns(rules) };
}

function inRuns(rules: readonly SourcedRule[]): ActionRun[] {
  const runs: { action: PolicyRule['action']; rules: SourcedRule[] }[] = [];
  for (const sourced of rules) {
    const last = runs.at(-1);
    if (last?.action === sourced.rule.action) last.rules.push(sourced);
    else runs.push({ action: sourced.rule.action, rules: [sourced] });
  }
  return runs;
}

/** The rules of the last tier, which end in a verdict. */
function tierRules(tier: TierRuns, podClass: PodClass, chain: string, builder: ClassBuilder): NftRule[] {
  const allowed = allow(podClass);
  const rules = actionRules(tier, allowed, podClass, chain, builder); // C9: Baseline's pass allows.
  if (tier.tier === 'baseline') return [...rules, plain(allowed)];
  const isolated = `${ISOLATED}${commentOfPolicies(tier.policies)}`;
  return [
    ...rules,
    ...tier.parts.map(policies => jumpTo(builder.part(policies, podClass, allowed))),
    { ...plain(DENY), comment: isolated.slice(0, 120) },
  ];
}

function jumpTo({ name, policies }: Part): NftRule {
  const verdict = { kind: 'jump', chain: name } as const;
  return { exprs: [{ kind: 'verdict', verdict }], comment: commentOfPolicies(policies) };
}

/** How many NetworkPolicies are looked at for a comment, which has no room for more names. */
const MOST_NAMED = 64;

function commentOfPolicies(policies: readonly Policy[]): string {
  return commentOfFirst(policies.slice(0, MOST_NAMED).map(policyLabel), policies.length);
}

/**
 * A cluster tier has many runs and few ports in each: a run costs 46 ns by compares, 110 ns by a map of its own
 * (measured). NetworkPolicy is one run, which costs the same by a map for one port or for all.
 */
const MOST_COMPARES: Record<Tier, number> = { admin: 4, networkpolicy: 0, baseline: 4 };

function actionRules(
  tier: TierRuns,
  pass: NftVerdict,
  podClass: PodClass,
  chain: string,
  builder: ClassBuilder,
): NftRule[] {
  const verdicts: Record<PolicyRule['action'], NftVerdict> = {
    accept: allow(podClass),
    deny: DENY,
    pass,
  };
  const mostCompares = MOST_COMPARES[tier.tier];
  builder.isForTenant = tier.tier === 'networkpolicy';
  const runs = tier.runs.map(
    ({ action, rules }): Run => ({ verdict: verdicts[action], mostCompares, rules }),
  );
  return runs.flatMap(run => runRules(run, { podClass, chain, builder }));
}

/** The verdict for an allowed packet of the direction. */
function allow({ direction }: PodClass): NftVerdict {
  return direction === 'ingress' ? { kind: 'accept' } : { kind: 'goto', chain: INGRESS_CHAIN };
}

function plain(verdict: NftVerdict): NftRule {
  return { exprs: [{ kind: 'verdict', verdict }] };
}
