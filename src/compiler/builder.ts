/**
 * Collects the kernel objects that the classes of one family need. Objects that several classes share are made once.
 */
import type { Family } from '../model/address.ts';
import { fitsRule } from '../nft/limits.ts';
import type { Chain, NftRule, NftSet, SetSpec } from '../nft/ruleset.ts';
import type { PodClass } from './classes.ts';
import { deny } from './denied.ts';
import type { Group, NamedGroup } from './group.ts';
import { hashedName } from './names.ts';

/** Where rules are made: the class of pods, the chain, and the builder that collects the sets that they look up. */
export interface RulePlace {
  readonly podClass: PodClass;
  readonly chain: string;
  readonly builder: Builder;
}

/**
 * The kernel refuses a whole batch for one rule that is too large. The compiler never makes one; if it does by mistake,
 * this rule takes its place and denies.
 */
function closed({ name }: Chain): Chain {
  const drop: NftRule = { exprs: [deny()], comment: 'a rule is too long for the kernel' };
  return { name, rules: [drop] };
}

export class Builder {
  readonly family: Family;
  readonly chains = new Map<string, Chain>();
  readonly sets = new Map<string, NftSet>();
  readonly groups = new Map<string, NamedGroup>();
  /** Whether the groups that are added now belong to NetworkPolicies. */
  isForTenant = false;
  /** Groups that only NetworkPolicies need: the quota of their namespace has to have room for the members. */
  readonly ofTenant = new Set<string>();

  /** Whether the node reads the DNS answers to its pods. If not, no address has a name. */
  readonly readsAnswers: boolean;

  constructor(family: Family, readsAnswers = false) {
    this.family = family;
    this.readsAnswers = readsAnswers;
  }

  addChain(chain: Chain): void {
    this.chains.set(chain.name, chain.rules.every(({ exprs }) => fitsRule(exprs)) ? chain : closed(chain));
  }

  /** Adds all objects that another builder of the same family has made. */
  include({ chains, sets, groups }: Builder): void {
    for (const chain of chains.values()) this.chains.set(chain.name, chain);
    for (const set of sets.values()) this.addSet(set);
    for (const group of groups.values()) this.groups.set(group.name, group);
  }

  addSet(set: NftSet): void {
    this.sets.set(set.name, set);
  }

  /** The name, with a number appended if it is taken: a class has a map for each run that needs one. */
  uniqueSetName(name: string): string {
    let unique = name;
    for (let n = 2; this.sets.has(unique); n++) unique = `${name}-${n}`;
    return unique;
  }

  /** Adds a chain with these rules, unless it exists, and returns its name. */
  sharedChain(prefix: string, rules: readonly NftRule[]): string {
    const name = hashedName(prefix, JSON.stringify([this.family, rules]));
    this.addChain({ name, rules });
    return name;
  }

  /** Adds a set of these networks, unless it exists, and returns its name. */
  networkSet(set: Omit<SetSpec, 'name'> & Pick<NftSet, 'elements'>): string {
    const name = hashedName('nets', JSON.stringify([this.family, ...set.elements.keys()]));
    this.addSet({ ...set, name });
    return name;
  }

  /** Adds an interval map of these elements, unless it exists, and returns its name. */
  intervalMap(prefix: string, { key, elements }: Pick<NftSet, 'key' | 'elements'>): string {
    const name = hashedName(prefix, JSON.stringify([this.family, ...elements]));
    this.addSet({ name, key, verdicts: true, interval: true, elements });
    return name;
  }

  /** Adds a set of the group's members, unless it exists, and returns its name. */
  group(group: Group): string {
    const name = hashedName(group.kind, JSON.stringify(group));
    if (!this.isForTenant) this.ofTenant.delete(name);
    else if (!this.groups.has(name)) this.ofTenant.add(name);
    this.groups.set(name, { name, group });
    return name;
  }
}
