/** One operation of a batch, which the kernel executes as a whole or not at all. */
import type { BaseHook, ElementKey, ElementValue, NftRule, SetSpec, TableFamily } from '../ruleset.ts';

export type Op =
  | { readonly op: 'addTable'; readonly family: TableFamily }
  /** Deletes the table with all of its content. Fails if the table does not exist. */
  | { readonly op: 'delTable'; readonly family: TableFamily }
  | { readonly op: 'addSet'; readonly family: TableFamily; readonly set: SetSpec; readonly size: number }
  | { readonly op: 'delSet'; readonly family: TableFamily; readonly set: string }
  | {
      readonly op: 'addChain';
      readonly family: TableFamily;
      readonly chain: string;
      readonly hook?: BaseHook;
    }
  | { readonly op: 'delChain'; readonly family: TableFamily; readonly chain: string }
  /** Deletes all rules of a chain. */
  | { readonly op: 'flushChain'; readonly family: TableFamily; readonly chain: string }
  /** Appends the rule to the chain. */
  | { readonly op: 'addRule'; readonly family: TableFamily; readonly chain: string; readonly rule: NftRule }
  | {
      readonly op: 'addElements';
      readonly family: TableFamily;
      readonly set: SetSpec;
      readonly elements: readonly (readonly [ElementKey, ElementValue])[];
    }
  | {
      readonly op: 'delElements';
      readonly family: TableFamily;
      readonly set: SetSpec;
      readonly keys: readonly ElementKey[];
    };

/** `add set ip sluice peers-3F…`: names the object for errors and logs. */
export function opText(op: Op): string {
  switch (op.op) {
    case 'addTable':
      return `add table ${op.family} sluice`;
    case 'delTable':
      return `delete table ${op.family} sluice`;
    case 'addSet':
      return `add ${noun(op.set)} ${op.family} sluice ${op.set.name}`;
    case 'delSet':
      return `delete set ${op.family} sluice ${op.set}`;
    case 'addChain':
      return `add chain ${op.family} sluice ${op.chain}`;
    case 'delChain':
      return `delete chain ${op.family} sluice ${op.chain}`;
    case 'flushChain':
      return `flush chain ${op.family} sluice ${op.chain}`;
    case 'addRule':
      return `add rule ${op.family} sluice ${op.chain}`;
    case 'addElements':
      return `add ${op.elements.length} elements to ${op.family} sluice ${op.set.name}`;
    case 'delElements':
      return `delete ${op.keys.length} elements from ${op.family} sluice ${op.set.name}`;
  }
}

/** The name of the chain or set that the operation is about; undefined for a table. */
export function objectOf(op: Op): string | undefined {
  if ('chain' in op) return op.chain;
  if (!('set' in op)) return undefined;
  return typeof op.set === 'string' ? op.set : op.set.name;
}

function noun(set: SetSpec): string {
  return set.verdicts || set.data !== undefined ? 'map' : 'set';
}
