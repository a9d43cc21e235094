/**
 * The version number of the layout of our tables: which tables, hooks and kinds of sets there are, and their names. It
 * is the name of an empty chain, so that every nft lists it. A batch that changes the layout replaces that chain too:
 *
 *     table ip sluice {
 *       chain layout-4 {
 *
 * A change of the layout increases the number and records the layout (test/layouts/README.md). Take-over from each
 * recorded layout, and back, is then tested with traffic.
 */
import type { Op } from '../nft/plan/op.ts';
import type { Chain } from '../nft/ruleset.ts';

export const LAYOUT = 4;

const NAME = /^layout-([1-9]\d*)$/;

export function layoutChain(): Chain {
  return { name: `layout-${LAYOUT}`, rules: [] };
}

/**
 * Whether a chain of this name states a layout, which marks a table as ours, also in families that later versions may
 * use.
 */
export function isLayout(chain: string): boolean {
  return NAME.test(chain);
}

export interface LayoutChange {
  /** Absent if the tables state no layout: the chain has been deleted from outside. */
  readonly from: number | undefined;
  readonly to: number;
}

/** The change of layout that a batch makes; undefined if it creates the table or keeps its layout. */
export function layoutChange(ops: readonly Op[]): LayoutChange | undefined {
  const made = ops.find(op => op.op === 'addChain' && NAME.test(op.chain));
  if (made === undefined || ops.some(op => op.op === 'addTable' && op.family === made.family))
    return undefined;
  const from = ops.map(op => (op.op === 'delChain' ? numberOf(op.chain) : undefined)).find(isDefined);
  return { from, to: LAYOUT };
}

function numberOf(chain: string): number | undefined {
  const number = NAME.exec(chain)?.[1];
  return number === undefined ? undefined : Number(number);
}

function isDefined(number: number | undefined): number is number {
  return number !== undefined;
}
