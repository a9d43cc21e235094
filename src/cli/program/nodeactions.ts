/** Actions of the commands of a node. Only a build with all libraries has them. */
// biome-ignore lint/suspicious/noExplicitAny: commander hands arguments and options over as it read them
type Action = (...args: any[]) => Promise<void>;

export interface NodeActions {
  readonly agent: Action;
  readonly trace: Action;
  readonly inspect: Action;
  readonly record: Action;
  readonly drops: Action;
  readonly flows: Action;
  readonly dump: Action;
  readonly names: Action;
  readonly status: Action;
  readonly uninstall: Action;
}
