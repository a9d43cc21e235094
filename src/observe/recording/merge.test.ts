import { expect, test } from 'vitest';
import type { Address } from '../../model/address.ts';
import { mergeRecordings } from './merge.ts';
import { connectionsOf, type RecordedFlow, type Recording } from './recording.ts';

function flow(was: 'allow' | 'deny', egress: number, ingress: number): RecordedFlow {
  const [from, to] = ['10.0.0.1', '10.0.1.2'].map(address => ({ address: address as Address }));
  return {
    from: from!,
    to: to!,
    protocol: 'TCP',
    port: 80,
    was,
    egress,
    ingress,
    firstMs: 1,
    lastMs: 2,
  };
}

function recording(node: string, ...flows: RecordedFlow[]): Recording {
  return {
    fromMs: 1,
    toMs: 2,
    recordedOn: [node],
    unknownPods: 'allow',
    lost: 0,
    leftOut: new Map(),
    namespaces: new Map(),
    nodes: new Map(),
    flows,
    silent: [],
  };
}

const counts = ({ flows }: Recording) => flows.map(({ was, egress, ingress }) => [was, egress, ingress]);

test('a connection that both nodes saw counts once', () => {
  const merged = mergeRecordings([
    recording('n1', flow('allow', 10, 0)),
    recording('n2', flow('allow', 0, 10)),
  ]);
  expect([counts(merged), connectionsOf(merged)]).toEqual([[['allow', 10, 10]], 10]);
});

test('what one node let go and the other denied is one connection, and was denied', () => {
  const merged = mergeRecordings([
    recording('n1', flow('allow', 15, 0), flow('deny', 3, 0)),
    recording('n2', flow('allow', 0, 10), flow('deny', 0, 5)),
  ]);
  expect([counts(merged), connectionsOf(merged)]).toEqual([
    [
      ['allow', 10, 10],
      ['deny', 8, 5],
    ],
    18,
  ]);
  const never = mergeRecordings([recording('n1', flow('allow', 5, 0)), recording('n2', flow('deny', 0, 5))]);
  expect(counts(never)).toEqual([['deny', 5, 5]]);
});

test('what the other node did not record stays as it was', () => {
  const seen = mergeRecordings([recording('n1', flow('allow', 7, 0)), recording('n2')]);
  expect(counts(seen)).toEqual([['allow', 7, 0]]);
  const denied = mergeRecordings([recording('n1'), recording('n2', flow('deny', 0, 4))]);
  expect(counts(denied)).toEqual([['deny', 0, 4]]);
});
