/** A verdict as NFTA_DATA_VERDICT: in the elements of a verdict map, and in the `immediate` of a rule. */
import type { NftVerdict } from '../../../nft/ruleset.ts';
import { type AttributeWriter, readAttributes, readString, readU32, type Span } from '../wire/attributes.ts';
import { DATA, VERDICT, VERDICT_CODE } from './constants.ts';

const KIND_OF_CODE = new Map(
  Object.entries(VERDICT_CODE).map(([kind, code]) => [code as number, kind as NftVerdict['kind']]),
);

export function writeVerdict(to: AttributeWriter, attribute: number, verdict: NftVerdict): void {
  to.nest(attribute, () =>
    to.nest(DATA.VERDICT, () => {
      to.u32(VERDICT.CODE, VERDICT_CODE[verdict.kind]);
      if ('chain' in verdict) to.string(VERDICT.CHAIN, verdict.chain);
    }),
  );
}

/** Undefined for a verdict that is not ours, such as `continue` or `queue`. */
export function readVerdict(data: Span): NftVerdict | undefined {
  const verdict = readAttributes(data).get(DATA.VERDICT);
  if (verdict === undefined) return undefined;
  const attributes = readAttributes(verdict);
  const code = attributes.get(VERDICT.CODE);
  const kind = code && KIND_OF_CODE.get(readU32(code));
  const chain = attributes.get(VERDICT.CHAIN);
  if (kind === undefined) return undefined;
  if (kind !== 'jump' && kind !== 'goto') return { kind };
  return chain && { kind, chain: readString(chain) };
}
