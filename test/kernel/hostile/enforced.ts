import { afterAll, beforeAll } from 'vitest';
import { Ground, type GroundOptions } from './ground.ts';

/** A ground for all tests of a file or of a describe(), with the policies and `more` objects in force. */
export function enforcedGround(options: GroundOptions, ...more: readonly object[]): Ground {
  const ground = new Ground(options);
  beforeAll(async () => {
    await ground.build();
    await ground.enforce(...more);
  });
  afterAll(() => ground.remove());
  return ground;
}
