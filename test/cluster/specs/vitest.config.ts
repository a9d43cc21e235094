import { defineConfig } from 'vitest/config';

/** These leave the nodes, their agents and what they give to pods alone, and so need not wait for each other. */
const PEACEFUL = ['dns', 'hostnetwork', 'ingress', 'namespace', 'nodeports', 'ports', 'serviceaddresses'].map(
  name => `${name}.spec.ts`,
);

/** These install, upgrade and remove, which takes as long as all others together. */
const INSTALLS = ['containerd', 'removal', 'removal-hindered', 'upgrade'].map(name => `${name}.spec.ts`);

// One cluster for all: `scripts/e2e own`. Two suites of scripts/suites share the projects, for each takes a quarter of an hour.
export default defineConfig({
  test: {
    setupFiles: ['support/setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    projects: [
      {
        extends: true,
        test: { name: 'at once', include: PEACEFUL, maxWorkers: 3, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: {
          name: 'one by one',
          include: ['*.spec.ts'],
          exclude: [...PEACEFUL, ...INSTALLS],
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'installs',
          include: INSTALLS,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
