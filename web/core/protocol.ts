/**
 * What passes between the page and its worker. Every text of an answer is printable already (core/printabledata.ts), but
 * for those of a `Verbatim`, which are files to be saved.
 */
import type { Problem } from '../../src/model/problem.ts';

/** The texts of manifests by the names of their files. */
export type Files = readonly (readonly [name: string, text: string])[];

/** Files as they were opened and, if they are edited, as they are. */
export interface LinkedFiles {
  readonly base: Files;
  readonly edited?: Files;
}

/** Texts that are new; undefined for a file that is gone. */
export type Edits = readonly (readonly [name: string, text: string | undefined])[];

type EndKind = 'workload' | 'node' | 'network' | 'domain';

/** A line of the matrix: a workload, a node, a network or a name. */
export interface Row {
  /** Rows of one end are the same to every policy. */
  readonly end: number;
  readonly kind: EndKind;
  /** `Deployment shop/web`, `node1`, `10.0.0.0/8`, `internet`: as the matrix has it. */
  readonly member: string;
  /** The namespace of a workload; for others what they are: `nodes`, `networks`, `names`. */
  readonly group: string;
  /** `web`. */
  readonly name: string;
  /** Where only some pods of a workload are meant: `2 of 3 pods`. */
  readonly part?: string;
}

export interface CellType {
  /** `apart`: policy has no say between the two. */
  readonly kind: 'apart' | 'none' | 'some' | 'all';
  /** `TCP 80,443; UDP 53`. */
  readonly text: string;
  /** The same where there is room for four letters: `80`, `all`. */
  readonly short: string;
  /** The two families differ. */
  readonly byFamily?: true;
  /** It depends on labels or addresses that are not known. */
  readonly undecided?: true;
}

export interface Model {
  readonly rows: readonly Row[];
  readonly ends: number;
  /** The index in `types` of each pair of ends, at `from * ends + to`. */
  readonly cells: Uint32Array;
  /** The first is `apart`, the second `none`. */
  readonly types: readonly CellType[];
  readonly glance: Glance;
  readonly counts: { readonly workloads: number; readonly policies: number };
  readonly notes: readonly string[];
  /** Sentences about the whole matrix. */
  readonly legend: string;
  /** Pairs that would change if audited policies were enforced. */
  readonly audited: readonly Change[];
}

/** What is counted over all pairs. */
interface Glance {
  /** Pairs of two workloads, and those of them that may connect. */
  readonly pairs: number;
  readonly openPairs: number;
  /** Indexes of rows of workloads to which any address of the internet may connect, on some port; and the reverse. */
  readonly openToInternet: readonly number[];
  readonly reachingInternet: readonly number[];
  /** Those to which every other workload may connect, on some port. */
  readonly openToAll: readonly number[];
}

/** A connection that opens or closes. */
export interface Change {
  readonly kind: 'opens' | 'closes';
  readonly undecided?: true;
  /** Members, as rows have them. */
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly what: string;
  readonly before: string;
  readonly after: string;
}

export interface Changes {
  readonly changes: readonly Change[];
  /** `3 changes: 2 open, 1 close (compared 12 workloads and 7 policies)`. */
  readonly summary: string;
  readonly notes: readonly string[];
}

export interface Rule {
  readonly path: string;
  readonly name?: string;
  readonly action: 'accept' | 'deny' | 'pass';
  readonly peers: readonly string[];
  /** Workloads of the cluster that its peers are. */
  readonly whom: readonly string[];
  readonly ports: readonly string[];
}

export interface PolicyView {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly tier: 'admin' | 'networkpolicy' | 'baseline';
  readonly order: number;
  readonly audited?: true;
  readonly subject: string;
  /** The workloads that it selects. */
  readonly selects: readonly string[];
  readonly ingress?: readonly Rule[];
  readonly egress?: readonly Rule[];
  readonly place: Place;
}

export interface Place {
  readonly file?: string;
  readonly line?: number;
}

interface Exposure {
  readonly direction: 'ingress' | 'egress';
  readonly members: readonly string[];
  readonly whom: readonly string[];
  readonly connections: string;
}

/** What is beside the matrix, and made after it is painted. */
export interface Overview {
  readonly policies: readonly PolicyView[];
  /** Workloads that no policy selects in any direction. */
  readonly withoutPolicy: readonly string[];
  /** From outside, by load balancers and ingress controllers. */
  readonly ways: readonly Way[];
  /** What is not known of them. */
  readonly wayNotes: readonly string[];
  /** Pods that are not there yet: the first of them, and how many more there are. */
  readonly exposures: readonly Exposure[];
  readonly moreExposures: number;
  /** For completion in the editor. */
  readonly vocabulary: Vocabulary;
}

/** From outside to a workload: through an ingress controller in two steps, or by a load balancer in one. */
export interface Way {
  /** `Ingress shop/web`, `Service shop/web`. */
  readonly objects: readonly string[];
  /** `Deployment shop/web`. */
  readonly to: string;
  readonly verdict: Verdict;
  /** No pod of the controller is in the manifests. */
  readonly isAssumed?: true;
  readonly steps: readonly WayStep[];
}

export interface WayStep {
  /** `internet`, or as rows have it. */
  readonly from: string;
  readonly to: string;
  readonly protocol: string;
  readonly port: number;
  /** The stricter one, where only some connections are allowed. */
  readonly verdict: Verdict;
  readonly isPartial?: true;
  readonly reason: string;
}

export interface Vocabulary {
  readonly namespaces: readonly string[];
  /** Values by key: of pods, and of namespaces. */
  readonly podLabels: Readonly<Record<string, readonly string[]>>;
  readonly namespaceLabels: Readonly<Record<string, readonly string[]>>;
  /** `http` and `8080`. */
  readonly ports: readonly string[];
}

/** A question about two rows; without a port the first that may be meant. */
export interface Asked {
  readonly from: number;
  readonly to: number;
  readonly port?: string;
  readonly protocol?: string;
}

type Verdict = 'allow' | 'deny' | 'undecided';

export interface Stop {
  readonly tier: PolicyView['tier'];
  readonly policy: string;
  readonly rule?: string;
  readonly says: 'allow' | 'deny' | 'pass' | 'isolates' | 'nothing';
  readonly part: 'decided' | 'passed' | 'same-verdict' | 'overridden' | 'no-match';
  readonly by?: string;
  readonly text?: string;
}

export interface DirectionShown {
  readonly pod?: string;
  readonly verdict: 'allow' | 'deny';
  readonly reason: string;
  readonly policy?: string;
  readonly rule?: string;
  readonly stops: readonly Stop[];
}

/** An Explanation of docs/schema/sluice-v1.json, as far as the page shows it. */
export interface Explanation {
  readonly from: string;
  readonly to: string;
  readonly port?: number;
  readonly protocol?: string;
  readonly verdict: Verdict;
  readonly reason: string;
  readonly families: Readonly<Record<string, Verdict>>;
  readonly differsBy: readonly string[];
  readonly egress?: DirectionShown;
  readonly ingress?: DirectionShown;
  readonly cases: readonly {
    readonly from: string;
    readonly to: string;
    readonly port?: number;
    readonly verdict: Verdict;
    readonly families: readonly string[];
    readonly addresses?: string;
  }[];
  readonly nearly: readonly {
    readonly direction: 'ingress' | 'egress';
    readonly policy: string;
    readonly rule: string;
    readonly needs: readonly string[];
  }[];
  readonly notes: readonly string[];
}

export interface Explained {
  /** As `sluice explain` takes it. */
  readonly question: { readonly from: string; readonly to: string };
  /** The same question for a shell: `sluice explain shop/deploy/web shop/db:5432/TCP --manifests PATH`. */
  readonly command: string;
  readonly port: string;
  readonly protocol: string;
  readonly answer: Explanation | { readonly error: string };
  /** Ways from outside; empty for a question from anywhere else. */
  readonly ways: readonly Way[];
  /** Where the policies and rules of the walk are written, by `POLICY RULE`. */
  readonly places: Readonly<Record<string, Place>>;
}

export interface Fixed {
  /** The objects to apply, as YAML; or why there are none. */
  readonly yaml?: { readonly verbatim: string };
  readonly none?: string;
  readonly verdict?: 'allow' | 'deny';
  /** What else it opens or closes. */
  readonly also: readonly string[];
}

export type DocumentFormat = 'html' | 'json' | 'csv' | 'md';

/** The functions of the worker. */
export interface Core {
  /** Reads manifests anew; what was read is what edits are compared with. */
  open(files: Files): Model;
  /**
   * Reads files that were edited, or are gone, since the last call, and compares with what was opened, in a fraction of
   * the time that the matrix takes. Where a policy cannot be parsed now, nothing but `check` is to be asked: its problem
   * is there, and all else would be without it.
   */
  edit(files: Edits): Changes | 'unreadable';
  /** As manifests are now. Rows in questions are those of the last matrix. */
  matrix(): Model;
  overview(): Overview;
  check(): readonly Problem[];
  explain(asked: Asked): Explained;
  fix(asked: Asked, wanted: 'allow' | 'deny'): Fixed;
  document(format: DocumentFormat): { readonly verbatim: string };
  /** What a link has of manifests, but for Secrets: it is passed on. Nothing, where it would be too long. */
  linkText(files: LinkedFiles): Promise<{ readonly verbatim: string }>;
}
