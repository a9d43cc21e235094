import { defineConfig } from 'vitest/config';

/** These leave the nodes, their agents and what they give to pods alone, and so need not wait for each other. */
const PEACEFUL = ['dns', 'hostnetwork', 'ingress', 'namespace', 'ports'].map(name => `${name}.spec.ts`);

// One cluster for all. Run by scripts/e2e own.
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
          exclude: PEACEFUL,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
