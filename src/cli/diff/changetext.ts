/** The parts of a change in words, for all formats. */

import { connectionsText } from '../../answers/reach/connectionstext.ts';
import type { ChangeView, DiffView } from '../../answers/reach/diff/diffview.ts';
import { memberName } from '../../answers/reach/view.ts';
import { FAMILY_NAME } from '../../model/address.ts';
import { listed } from '../matrix/rows.ts';

/** `shop/web, shop/api and 3 more`. */
export function endsText(members: readonly string[], most = 6): string {
  return listed(members.map(memberName), most);
}

/** `TCP 80`; where pods have another family too, `TCP 80 over IPv6`. */
export function whatText(
  { pool, families: known }: Pick<DiffView, 'pool' | 'families'>,
  { connections, families }: ChangeView,
): string {
  const text = connectionsText(pool, connections);
  const isWhole = known.every(family => families.includes(family));
  return isWhole ? text : `${text} over ${FAMILY_NAME[families[0]!]}`;
}

export function beforeText({ kind, before }: ChangeView): string {
  return kind === 'opens' ? deniedText(before, 'was') : allowedText(before, 'was');
}

export function afterText({ kind, after }: ChangeView): string {
  return kind === 'opens' ? allowedText(after, 'is') : deniedText(after, 'is');
}

function allowedText(by: readonly string[], is: 'is' | 'was'): string {
  return by.length === 0 ? `${is} allowed: no policy denies it` : `${is} allowed by ${by.join(' and ')}`;
}

/** Nobody denies what one of the two ends was not there for. */
function deniedText(by: readonly string[], is: 'is' | 'was'): string {
  return by.length === 0 ? `${is} not there` : `${is} denied by ${by.join(' and ')}`;
}
