import { afterAll, beforeAll } from 'vitest';
import { NamesGround, type NamesGroundOptions, SLOW } from '../../support/names/ground.ts';

interface HearingGroundOptions extends NamesGroundOptions {
  /** Where the policy lets shop/web go. Default: to all of t.example. */
  readonly names?: readonly string[];
  /** Options of the agent's command line. */
  readonly agent?: readonly string[];
  /** Once the ground is built and its manifests are written. */
  readonly beforeAgent?: (ground: NamesGround) => void | Promise<void>;
}

/** A ground for all tests of a file or of a describe(), with a policy in force and an agent that hears answers. */
export function hearingGround(options: HearingGroundOptions = {}): NamesGround {
  const ground = new NamesGround(options);
  beforeAll(async () => {
    await ground.build();
    ground.writeManifests(...(options.names ?? ['*.t.example']));
    await options.beforeAgent?.(ground);
    await ground.startAgent(...(options.agent ?? []));
    await ground.readingAnswers();
  }, 180_000 * SLOW);
  afterAll(() => ground.remove());
  return ground;
}
