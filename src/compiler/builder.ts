/** Collects what the classes of one family need in the kernel; what two of them share is there once. */
import type { Family } from '../model/address.ts';
import { fitsRule } from '../nft/limits.ts';
import type { Chain, NftRule, NftSet, SetSpec } from '../nft/ruleset.ts';
import type { PodClass } from './classes.ts';
import { deny } from './denied.ts';
import type { Group, NamedGroup } from './group.ts';
import { hashedName } from './names.ts';

/** Where rules are made: for which pods, in which chain, with what else they need. */
export interface RulePlace {
  readonly podClass: PodClass;
  readonly chain: string;
  readonly builder: Builder;
}

/** A rule that the kernel refuses would take everybody's with it: nobody makes one, and if somebody did, it denies. */
function closed({ name }: Chain): Chain {
  const drop: NftRule = { exprs: [deny()], comment: 'a rule is too long for the kernel' };
  return { name, rules: [drop] };
}

export class Builder {
  readonly family: Family;
  readonly chains = new Map<string, Chain>();
  readonly sets = new Map<string, NftSet>();
  readonly groups = new Map<string, NamedGroup>();
  /** What is made now is of NetworkPolicies. */
  isForTenant = false;
  /** Groups that only those need: their namespace has to have room for the members. */
  readonly ofTenant = new Set<string>();

  /** Whether the node hears what its pods are told by DNS: else no address has a name. */
  readonly hearsAnswers: boolean;

  constructor(family: Family, hearsAnswers = false) {
    this.family = family;
    this.hearsAnswers = hearsAnswers;
  }

  addChain(chain: Chain): void {
    this.chains.set(chain.name, chain.rules.every(({ exprs }) => fitsRule(exprs)) ? chain : closed(chain));
  }

  /** Has all that another builder of the family has made, too. */
  include({ chains, sets, groups }: Builder): void {
    for (const chain of chains.values()) this.chains.set(chain.name, chain);
    for (const set of sets.values()) this.addSet(set);
    for (const group of groups.values()) this.groups.set(group.name, group);
  }

  addSet(set: NftSet): void {
    this.sets.set(set.name, set);
  }

  /** The name, or the name with a number where it is taken: a class has a map for each run that needs one. */
  uniqueSetName(name: string): string {
    let unique = name;
    for (let n = 2; this.sets.has(unique); n++) unique = `${name}-${n}`;
    return unique;
  }

  /** The name of the chain with these rules. */
  sharedChain(prefix: string, rules: readonly NftRule[]): string {
    const name = hashedName(prefix, JSON.stringify([this.family, rules]));
    this.addChain({ name, rules });
    return name;
  }

  /** The name of the set of networks with these elements. */
  networkSet(set: Omit<SetSpec, 'name'> & Pick<NftSet, 'elements'>): string {
    const name = hashedName('nets', JSON.stringify([this.family, ...set.elements.keys()]));
    this.addSet({ ...set, name });
    return name;
  }

  /** The name of the interval map with these elements. */
  intervalMap(prefix: string, { key, elements }: Pick<NftSet, 'key' | 'elements'>): string {
    const name = hashedName(prefix, JSON.stringify([this.family, ...elements]));
    this.addSet({ name, key, verdicts: true, interval: true, elements });
    return name;
  }

  /** The name of the set that holds the group's members. */
  group(group: Group): string {
    const name = hashedName(group.kind, JSON.stringify(group));
    if (!this.isForTenant) this.ofTenant.delete(name);
    else if (!this.groups.has(name)) this.ofTenant.add(name);
    this.groups.set(name, { name, group });
    return name;
  }
}
