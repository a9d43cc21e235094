/** The answers of `sluice explain` for people, as lines, and for programs, as objects. */
import { familyOf } from '../model/address.ts';
import type { DirectionVerdict, FlowVerdict } from '../semantics/evaluate.ts';
import type { DirectionWalk, Stop } from '../semantics/explain.ts';
import { endName, flowText } from '../semantics/flowtext.ts';
import pc from '../terminal/colours.ts';
import type { Answer, Explanation } from './answers.ts';

/** What `--output json` prints for an answer. */
export function answerObject(answer: Answer): object {
  if ('error' in answer) return { ...answer.question, error: answer.error };
  const { question, flow, verdict, note } = answer;
  const ends = { from: endName(question.from), to: endName(question.to) };
  const addresses = { from: flow.from, to: flow.to };
  return { ...ends, port: flow.port, protocol: flow.protocol, ...verdict, addresses, note };
}

/** One line of many: the verdict and the reason that matters most. */
export function answerLine(answer: Answer): string {
  const { question } = answer;
  const words = 'line' in question ? `"${question.line}"` : `${question.from} -> ${question.to}`;
  if ('error' in answer) return `${pc.yellow('error')}  ${words}  ${answer.error}`;
  const { verdict, note } = answer;
  const why = [decisive(verdict).reason, ...(note === undefined ? [] : [note])].join('; ');
  return `${verdictWord(verdict.verdict)}  ${words}  ${pc.dim(why)}`;
}

/** The direction whose reason matters most: the one that denies, else the one that a policy decided. */
function decisive({ egress, ingress }: FlowVerdict): DirectionVerdict {
  if (egress.verdict === 'deny') return egress;
  if (ingress.verdict === 'deny' || ingress.policy !== undefined) return ingress;
  return egress.policy === undefined ? ingress : egress;
}

/** The whole walk; a pod of two families is asked about in one breath. */
export function explanationLines(explanation: Explanation): string[] {
  const { walk, note } = explanation;
  return [
    `${verdictWord(walk.verdict)}  ${pc.bold(namedFlow(explanation))}`,
    ...[walk.egress, walk.ingress].flatMap(direction => ['', ...directionLines(direction)]),
    ...(note === undefined ? [] : ['', pc.dim(note)]),
    ...otherLines(explanation),
  ];
}

function namedFlow({ walk: { flow }, pods }: Explanation): string {
  const name = (pod: string | undefined, address: string) => (pod ? `${pod} (${address})` : address);
  const [, target = ''] = flowText(flow).split(' -> ');
  const tail = target.slice(target.indexOf(flow.to) + flow.to.length).replace(/^\]/, '');
  return `${name(pods.from, flow.from)} -> ${name(pods.to, flow.to)}${tail}`;
}

function directionLines({ direction, pod, verdict, stops }: DirectionWalk): string[] {
  const whose = pod === undefined ? '' : ` of ${pod}`;
  const width = Math.max(0, ...stops.map(({ policy }) => policy.length));
  return [
    `${verdictWord(verdict.verdict)}  ${direction}${whose}: ${verdict.reason}`,
    ...stops.map(stop => stopLine(stop, width)),
  ];
}

function stopLine(stop: Stop, width: number): string {
  const { tier, policy, part } = stop;
  const line = `  ${PARTS[part].padEnd(12)}  ${tier.padEnd(13)}  ${policy.padEnd(width)}  ${stopText(stop)}`;
  return part === 'decided' ? line : part === 'overridden' ? pc.yellow(line) : pc.dim(line);
}

const PARTS: Record<Stop['part'], string> = {
  decided: 'decided',
  passed: 'passed',
  'same-verdict': 'same verdict',
  overridden: 'overridden',
  'no-match': 'no match',
};

function stopText({ policy, part, says, text, by }: Stop): string {
  const what = text?.replace(`${policy} `, '') ?? WITHOUT_MATCH[says];
  if (part === 'passed') return `${what} to the next tier`;
  return by === undefined ? what : `${what}; overridden by ${by}`;
}

const WITHOUT_MATCH: Record<Stop['says'], string> = {
  allow: '',
  deny: '',
  pass: '',
  isolates: 'selects the pod, and no rule allows this',
  nothing: 'no rule matches',
};

/** In a line where the second family goes the way of the first. */
function otherLines({ question, walk, other }: Explanation): string[] {
  if (other === undefined) return [];
  const { flow, verdict } = other;
  const [family, at] = familyOf(flow.to) === 'ip6' ? ['IPv6', '@6'] : ['IPv4', '@4'];
  if (verdict === walk.verdict) return ['', pc.dim(`${verdict} over ${family} too: ${flowText(flow)}`)];
  const hint = `ask for ${question.from}${at} to see why`;
  return ['', `${verdictWord(verdict)}  over ${family}: ${flowText(flow)}; ${hint}`];
}

function verdictWord(verdict: 'allow' | 'deny'): string {
  return verdict === 'allow' ? pc.green('allow') : pc.red('deny ');
}
