/** Ways from outside, for people. */
import type { Entryways } from '../answers/entrances/entryways.ts';
import { ENTRYWAYS, entrywayGroups, entrywayText } from '../answers/entrances/waytext.ts';
import type { Verdict } from '../answers/questions/answer.ts';
import pc from '../terminal/colours.ts';

/** Denials first; each line as its beginning and its text. */
export function entrywayLines(entryways: Entryways): (readonly [head: string, text: string])[] {
  const groups = entrywayGroups(entryways);
  if (groups.length === 0) return [];
  const width = groups.some(({ way }) => way.verdict === 'undecided') ? 9 : 5;
  return [
    [pc.bold(ENTRYWAYS), ''],
    ...(['deny', 'undecided', 'allow'] as const).flatMap(verdict =>
      groups
        .filter(({ way }) => way.verdict === verdict)
        .map(group => [`  ${COLOURS[verdict](verdict.padEnd(width))}  `, entrywayText(group)] as const),
    ),
  ];
}

const COLOURS: Record<Verdict, (text: string) => string> = {
  allow: pc.green,
  deny: pc.red,
  undecided: pc.yellow,
};
