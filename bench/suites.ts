/** The budgets of the design, each with the figure that this machine gives. A suite needs minutes. */
import { LARGE_POLICIES } from './largepolicies.ts';
import { PARTS } from './neighbours/attacks.ts';
import type { BenchRow } from './row.ts';

interface Suite {
  readonly name: string;
  readonly what: string;
  /** The parts that can be measured alone, where it has some: a word that is one of them picks it. */
  readonly parts?: readonly string[];
  /** Programs without which there is nothing to measure. */
  readonly needs?: readonly Program[];
  readonly load: () => Promise<(isWanted: (part: string) => boolean) => Promise<BenchRow[]>>;
}

/** As they are called, and the Debian packages that have them. */
export const PROGRAMS = {
  cc: 'gcc and libc6-dev',
  chromium: 'chromium',
  ip: 'iproute2',
  nft: 'nftables',
} as const;
export type Program = keyof typeof PROGRAMS;

/** Loaded when they are run, so that none of them carries another's memory. */
export const SUITES: readonly Suite[] = [
  {
    name: 'compile',
    what: 'full compile and first commit',
    load: async () => (await import('./compile.ts')).benchCompile,
  },
  {
    name: 'memory',
    needs: ['ip'],
    what: 'memory of the agent',
    load: async () => (await import('./memory.ts')).benchMemory,
  },
  {
    name: 'events',
    what: 'from an event to the rules in force',
    load: async () => (await import('./events.ts')).benchEvents,
  },
  {
    name: 'nodes',
    what: 'a node that joins, where all have tunnels',
    load: async () => (await import('./tunnelnodes.ts')).benchTunnelNodes,
  },
  {
    name: 'start',
    what: 'from the start of the agent to the rules in force',
    load: async () => (await import('./start.ts')).benchStart,
  },
  {
    name: 'commit',
    needs: ['cc'],
    what: 'a commit against the same batch sent from C',
    load: async () => (await import('./commit.ts')).benchCommit,
  },
  {
    name: 'packets',
    needs: ['cc', 'ip', 'nft'],
    what: 'what rules add to a packet',
    parts: ['new', 'source', 'bridge', 'established'],
    load: async () => {
      const { benchPackets } = await import('./packets.ts');
      return isWanted => benchPackets({ isWanted });
    },
  },
  {
    name: 'denials',
    needs: ['cc', 'ip', 'nft'],
    what: 'what it costs that denied connections are counted and named, packet by packet and in a flood, and how soon',
    parts: ['packet', 'flood', 'prompt'],
    load: async () => {
      const { benchDenials } = await import('./denials.ts');
      const { benchDenialFlood } = await import('./denialflood.ts');
      const { benchDenialPrompt } = await import('./denialprompt.ts');
      return async isWanted => [
        ...(isWanted('packet') ? await benchDenials() : []),
        ...(isWanted('flood') ? await benchDenialFlood() : []),
        ...(isWanted('prompt') ? await benchDenialPrompt() : []),
      ];
    },
  },
  {
    name: 'flows',
    needs: ['ip'],
    what: 'what it costs that new connections are followed, beside conntrack -E',
    load: async () => {
      const { benchFlows } = await import('./flows.ts');
      return () => benchFlows();
    },
  },
  {
    name: 'conntrack',
    what: 'live connections that a change denies',
    load: async () => (await import('./conntrack.ts')).benchConntrack,
  },
  {
    name: 'attach',
    what: 'a pod attached under its policy, beside the CNI plugins where they are installed',
    load: async () => (await import('./attach.ts')).benchAttach,
  },
  {
    name: 'attached',
    what: 'what it costs an agent that it attaches pods, where nothing changes',
    load: async () => (await import('./attached.ts')).benchAttached,
  },
  {
    name: 'policies',
    needs: ['cc', 'ip', 'nft'],
    what: 'what one policy can cost, as large as its budget lets it be',
    parts: Object.keys(LARGE_POLICIES),
    load: async () => (await import('./policies.ts')).benchPolicies,
  },
  {
    name: 'names',
    needs: ['cc', 'ip', 'nft'],
    what: 'peers by name: answers that wait, first packets, memory',
    load: async () => {
      const { benchNames } = await import('./names.ts');
      return () => benchNames();
    },
  },
  {
    name: 'matrix',
    what: 'who reaches whom in large folders of manifests, and what changes between two',
    load: async () => {
      const { benchMatrix } = await import('./matrix.ts');
      return () => benchMatrix();
    },
  },
  {
    name: 'edit',
    what: 'manifests that are edited: from a key to what opens and closes, and memory',
    load: async () => {
      const { benchEdit } = await import('./edit.ts');
      return () => benchEdit();
    },
  },
  {
    name: 'page',
    needs: ['chromium'],
    what: 'the page in a browser: from manifests to the matrix, from a key to the painted difference, memory',
    load: async () => (await import('./page.ts')).benchPage,
  },
  {
    name: 'explain',
    what: 'from a question to its answer, of folders and of an API server',
    load: async () => {
      const { benchExplain } = await import('./explain.ts');
      return () => benchExplain();
    },
  },
  {
    name: 'workstation',
    what: 'from a question about all nodes to its answer, by kubeconfig',
    load: async () => {
      const { benchWorkstation } = await import('./workstation.ts');
      return () => benchWorkstation();
    },
  },
  {
    name: 'repositories',
    what: 'reading the root of a repository',
    load: async () => {
      const { benchRepositories } = await import('./repositories.ts');
      return async () => benchRepositories();
    },
  },
  {
    name: 'neighbours',
    needs: ['cc', 'ip', 'nft'],
    what: 'what a tenant can do to its neighbours',
    parts: PARTS,
    load: async () => (await import('./neighbours/neighbours.ts')).benchNeighbours,
  },
];

/**
 * Interprets words: names of suites, and after them their parts, or parts of the names of their rows. Undefined if a
 * word comes without the suite whose rows it could mean: that it matches none would be known only after minutes of
 * measuring.
 */
export function choose(words: readonly string[]): SuiteChoice | undefined {
  const named = SUITES.filter(({ name }) => words.includes(name));
  const others = words.filter(word => !named.some(({ name }) => name === word));
  if (named.length === 0 && others.length > 0) return undefined;
  const parts = others.filter(word => named.some(suite => suite.parts?.includes(word)));
  const picks = others.filter(word => !parts.includes(word));
  return {
    suites: named.length > 0 ? named : SUITES,
    isPartWanted: part => parts.length === 0 || parts.includes(part),
    isWanted: ({ name }) => picks.length === 0 || picks.some(pick => name.includes(pick)),
  };
}

export interface SuiteChoice {
  readonly suites: readonly Suite[];
  readonly isPartWanted: (part: string) => boolean;
  readonly isWanted: (row: BenchRow) => boolean;
}
