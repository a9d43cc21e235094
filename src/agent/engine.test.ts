import { expect, test } from 'vitest';
import { Incremental } from '../compiler/live/incremental.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import { type Engine, withRules } from './engine.ts';

function flushed(engine: Engine): Ruleset {
  const flushing = engine.flushing();
  for (let piece = flushing.next(); ; piece = flushing.next()) if (piece.done) return piece.value;
}

test('withRules() makes other rules of what is new, and the same object of what is not', () => {
  const engine = withRules(new Incremental('n1'), ({ tables }) => ({ tables: new Map(tables) }));
  engine.note({ type: 'namespace', key: 'shop', value: { name: 'shop', labels: {} } });
  const first = flushed(engine);
  expect(flushed(engine)).toBe(first);
  engine.note({
    type: 'node',
    key: 'n1',
    value: { name: 'n1', labels: {}, addresses: [], podCidrs: [], links: { uplinks: [2], podBridges: [] } },
  });
  const second = flushed(engine);
  expect(second).not.toBe(first);
  expect(second).not.toEqual(first);
  expect(engine.cluster.nodes.size).toBe(1);
});
