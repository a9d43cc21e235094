import fc from 'fast-check';
import { expect, test } from 'vitest';
import { historyArbitrary } from '../../test/support/arbitrary/events.ts';
import { ClusterState } from '../model/cluster.ts';
import { clusterEvents } from './clusterevents.ts';

test('clusterEvents() makes the same cluster, host ports included', () => {
  let hostPorts = 0;
  fc.assert(
    fc.property(historyArbitrary(16), steps => {
      const [told, replayed] = [new ClusterState(), new ClusterState()];
      for (const { event } of steps) told.apply(event);
      for (const event of clusterEvents(told)) replayed.apply(event);
      hostPorts += told.hostPorts.size;
      expect({ ...replayed }).toEqual({ ...told });
    }),
  );
  expect(hostPorts, 'host ports that were replayed').toBeGreaterThan(5);
});
