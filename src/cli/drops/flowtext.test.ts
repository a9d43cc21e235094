import { expect, test } from 'vitest';
import { wrongWith } from '../../../test/support/questions/schema.ts';
import type { Address } from '../../model/address.ts';
import type { SeenFlow } from '../../observe/flows/seenflow.ts';
import { toTerminal } from '../../terminal/colours.ts';
import { HANG } from '../../terminal/hang.ts';
import { printableJson } from '../../terminal/printable.ts';
import { Joined, joinedText } from './joined.ts';
import { flowObject, flowSaid } from './text.ts';

function flowLine(flow: SeenFlow): string {
  const joined = new Joined();
  joined.add(flowSaid(flow), 0);
  return joinedText(joined.due(0)[0]!).replace(HANG, '');
}

const at = (text: string) => text as Address;
const FLOW: SeenFlow = {
  number: 7,
  atMs: Date.UTC(2026, 0, 1),
  from: {
    address: at('10.0.0.1'),
    pod: 'guest/visitor-1-x',
    workload: 'Deployment guest/visitor',
    labels: { app: 'visitor' },
  },
  to: { address: at('10.0.0.2'), pod: 'shop/db' },
  protocol: 'TCP',
  sourcePort: 4000,
  port: 5432,
  service: { address: at('10.96.0.1'), port: 5432 },
  directions: ['egress', 'ingress'],
  family: 'ip',
};

test('a new connection is a line for people', () => {
  expect(flowLine(FLOW)).toMatch(
    /^\d\d:\d\d:\d\d {2}guest\/visitor-1-x -> shop\/db:5432\/TCP through 10\.96\.0\.1:5432 {2}allowed egress, ingress$/,
  );
});

test('a new connection is an object of the schema, with and without all that it may have', () => {
  const { service: _, port: __, sourcePort: ___, ...bare } = FLOW;
  for (const flow of [
    FLOW,
    { ...bare, protocol: 'ICMP' as const, icmp: { type: 8, code: 0 } },
    { ...bare, protocol: 47, family: 'ip6' as const, from: { address: at('fd00::1'), node: 'n1' } },
  ])
    expect(wrongWith(flowObject(flow) as { kind: string })).toEqual([]);
});

test('names that would move the cursor are shown, and obeyed by nobody', () => {
  const hostile = {
    ...FLOW,
    to: { ...FLOW.to, pod: 'shop/\x1b[2J\u202edb' as const, labels: { '\x1b]0;': '\x07' } },
  };
  for (const text of [toTerminal(flowLine(hostile)), printableJson(flowObject(hostile))])
    expect(text).not.toMatch(/[\p{Cc}\u202e]/u);
});
