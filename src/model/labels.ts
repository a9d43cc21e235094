/** Labels and label selectors. */
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
  /** A part of the selector cannot be read; only the subject of a policy may have this. */
  readonly unreadable?: true;
}

/** What selectors look at. */
export interface Labelled {
  readonly labels: Labels;
  /** There may be labels that are not known: of a namespace that was not seen yet only the name is known. */
  readonly partial?: true;
}

/** Whether each of the wanted labels is there with its value, as a Service selects pods. */
export function hasLabels(labels: Labels, wanted: Labels): boolean {
  // Own properties only: a label may be called `constructor`.
  return Object.entries(wanted).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}

/** `key=value` of every label. A key contains no `=`, so different labels have different texts. */
export function labelTexts(labels: Labels): string[] {
  const texts: string[] = [];
  for (const [key, value] of Object.entries(labels)) texts.push(`${key}=${value}`);
  return texts;
}
