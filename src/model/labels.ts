/** Labels, and what can be asked of them. */
export type Labels = Readonly<Record<string, string>>;

export type Operator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';

export interface Requirement {
  readonly key: string;
  readonly operator: Operator;
  /** At least one for In and NotIn, none for Exists and DoesNotExist. */
  readonly values: readonly string[];
}

/** All requirements hold (N55). No requirement at all selects everything (N58). */
export interface LabelSelector {
  readonly requirements: readonly Requirement[];
  /** There is more to it than the requirements, which cannot be read: only the subject of a policy has this. */
  readonly unreadable?: true;
}

/** What selectors select by. */
export interface Labelled {
  readonly labels: Labels;
  /** There may be other labels besides: of a namespace that was not seen yet, the name is all that is known. */
  readonly partial?: true;
}

/** `key=value` of every label; a key holds no `=`, so that no two labels share a text. */
export function labelTexts(labels: Labels): string[] {
  return Object.entries(labels).map(([key, value]) => `${key}=${value}`);
}
