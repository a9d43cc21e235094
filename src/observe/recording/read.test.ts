import { expect, test } from 'vitest';
import { RecordingError, RecordingReader, VALUE_CHARACTERS } from './read.ts';

const HEADER = {
  apiVersion: 'sluice/v1',
  kind: 'Recording',
  fromMs: 1,
  toMs: 2,
  recordedOn: ['n1'],
  unknownPods: 'deny',
  lost: 0,
  leftOut: [],
};
const END = { end: { address: '10.0.0.1', pod: { namespace: 'shop', name: 'web', node: 'n1', labels: {} } } };
const OTHER = { end: { address: '192.0.2.7' } };
const FLOW = {
  from: 0,
  to: 1,
  protocol: 'TCP',
  port: 80,
  was: 'allow',
  egress: 1,
  ingress: 0,
  firstMs: 1,
  lastMs: 2,
};

function read(...lines: unknown[]) {
  const reader = new RecordingReader();
  for (const line of lines) reader.add(typeof line === 'string' ? line : JSON.stringify(line));
  return reader.recording();
}

test('a whole recording, and one that is cut off between two lines', () => {
  expect(read(HEADER, END, OTHER, { flow: FLOW }, { complete: { flows: 1 } }).isCut).toBeUndefined();
  const cut = read(HEADER, END, OTHER, { flow: FLOW });
  expect([cut.isCut, cut.flows.length]).toEqual([true, 1]);
});

test('no more of it is kept than a recording may have', () => {
  const lines = [HEADER, END, OTHER, { flow: FLOW }, { complete: { flows: 1 } }].map(line =>
    JSON.stringify(line),
  );
  const weigh = (line: string) => line.length + VALUE_CHARACTERS * (line.split(',').length - 1);
  const length = lines.reduce((sum, line) => sum + weigh(line), 0);
  const readMost = (most: number) => {
    const reader = new RecordingReader(most);
    for (const line of lines) reader.add(line);
    const { isCut = false, flows } = reader.recording();
    return [isCut, flows.length];
  };
  expect([length, length - 1, length - 25].map(readMost)).toEqual([
    [false, 1],
    [true, 1],
    [true, 0],
  ]);
});

test('many short values are as much of it as they are in memory', () => {
  const labels = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`l${n}`, '']));
  const reader = new RecordingReader(10_000_000);
  reader.add(JSON.stringify(HEADER));
  for (let n = 0; n < 10; n++)
    reader.add(JSON.stringify({ end: { ...END.end, pod: { ...END.end.pod, name: `p${n}`, labels } } }));
  expect(reader.isFull).toBe(true);
});

test.each<[string, unknown[], string]>([
  ['nothing', [], 'is not what `sluice record` writes: it has no first line'],
  ['no JSON', ['conntrack v1.4'], 'line 1: is no JSON object'],
  ['a list', ['[]'], 'line 1: is no JSON object'],
  ['a dump', [{ kind: 'Dump' }], 'line 1: is not what `sluice record` writes'],
  [
    'another version',
    [{ ...HEADER, apiVersion: 'sluice/v9' }],
    'line 1: apiVersion is not sluice/v1: another version of sluice wrote it',
  ],
  [
    'a time that is none',
    [{ ...HEADER, toMs: 1e300 }],
    'line 1: toMs is no number from 0 to 8640000000000000',
  ],
  ['what is no part', [HEADER, { policy: {} }], 'line 2: "policy" is no part of a recording'],
  ['two parts', [HEADER, { ...END, flow: FLOW }], 'line 2: must have one key'],
  [
    'an address that is none',
    [HEADER, { end: { address: '10.0.0.256' } }],
    'line 2: end.address is no address',
  ],
  [
    'labels that are none',
    [HEADER, { end: { ...END.end, pod: { ...END.end.pod, labels: { a: 1 } } } }],
    'line 2: labels',
  ],
  [
    'an end that is not there',
    [HEADER, END, { flow: FLOW }],
    'line 3: flow.to is no end of the lines before',
  ],
  [
    'an end with a name of its own',
    [HEADER, END, { flow: { ...FLOW, to: 'length' } }],
    'line 3: flow.to is no end of the lines before',
  ],
  [
    'both families',
    [HEADER, END, { end: { address: 'fd00::1' } }, { flow: FLOW }],
    'line 4: flow goes from one address family to the other',
  ],
  [
    'less than nothing',
    [HEADER, END, OTHER, { flow: { ...FLOW, egress: -1 } }],
    'line 4: flow.egress is no number',
  ],
  [
    'a protocol that is none',
    [HEADER, END, OTHER, { flow: { ...FLOW, protocol: 'tcp' } }],
    'line 4: flow.protocol is none of TCP, UDP, SCTP, ICMP',
  ],
  [
    'a part taken out',
    [HEADER, END, OTHER, { complete: { flows: 1 } }],
    'line 4: says that there are 1 flows, and there are 0',
  ],
  [
    'more behind its end',
    [HEADER, { complete: { flows: 0 } }, END],
    'line 3: comes after the end of the recording',
  ],
  [
    'a key twice',
    [HEADER, END, OTHER, `{"flow":${JSON.stringify(FLOW).replace('"was"', '"was":"deny","was"')}}`],
    'line 4: has a key twice in one object',
  ],
  [
    'a key twice, of which one is escaped',
    [
      HEADER,
      JSON.stringify({ end: { address: '10.0.0.1' } }).replace(
        '"address"',
        '"\\u0061ddress":"10.0.0.2","address"',
      ),
    ],
    'line 2: has a key twice in one object',
  ],
  [
    'a key twice, deeper than anybody looks',
    [HEADER, `{"end":{"address":"10.0.0.1","x":${'['.repeat(200_000)}{"a":1,"a":2}${']'.repeat(200_000)}}}`],
    'line 2: has a key twice in one object',
  ],
  [
    'a namespace twice',
    [HEADER, ...[{}, { team: 'a' }].map(labels => ({ namespace: { name: 'shop', labels } }))],
    'line 3: names what a line before has',
  ],
  [
    'a namespace twice that was left out',
    [{ ...HEADER, leftOut: [1, 2].map(connections => ({ namespace: 'shop', connections })) }],
    'line 1: leftOut has a namespace twice',
  ],
  [
    'a text that is long',
    [{ ...HEADER, recordedOn: ['n'.repeat(2_000)] }],
    'line 1: recordedOn is no text of at most 1000 characters',
  ],
])('%s is refused, and the line is named', (_, lines, message) => {
  expect(() => read(...lines)).toThrow(RecordingError);
  expect(() => read(...lines)).toThrow(
    message.startsWith('line 2: labels') ? 'end.pod.labels.a is no text' : message,
  );
});

test('lines that somebody else has written anew are read as they are', () => {
  const labels = { 'a"': '":', '2': 'b', '1': '\u202e' };
  const end = { end: { ...END.end, pod: { ...END.end.pod, labels } } };
  const spaced = (line: unknown) =>
    JSON.stringify(line, null, 1).replaceAll('\n', ' ').replaceAll('":', '" :');
  const escaped = JSON.stringify(end).replaceAll('\u202e', '\\u202e').replace('"address"', '"\\u0061ddress"');
  const { flows } = read(HEADER, escaped, OTHER, spaced({ flow: FLOW }));
  expect(flows[0]!.from).toMatchObject({ address: '10.0.0.1', pod: { labels } });
});

test('names that are properties of every object are names like others', () => {
  const labels = JSON.parse('{"__proto__":"x","constructor":"y"}');
  const { flows } = read(HEADER, { end: { ...END.end, pod: { ...END.end.pod, labels } } }, OTHER, {
    flow: FLOW,
  });
  expect(Object.entries(flows[0]!.from.pod!.labels)).toEqual([
    ['__proto__', 'x'],
    ['constructor', 'y'],
  ]);
});
