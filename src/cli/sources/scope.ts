import { didYouMean } from '../../lib/text/didyoumean.ts';
import { type LabelSelector, type Labels, matchesLabels } from '../../model/selector.ts';
import { parseSelector } from '../../model/selectortext.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import type { SourceOptions } from './options.ts';
import type { Scope, State } from './state.ts';

/** Throws CommandError where the selector cannot be read. */
export function scopeOf(options: SourceOptions, contextNamespace?: string): Scope {
  const { namespace, allNamespaces, selector } = options;
  return {
    defaultNamespace: namespace ?? contextNamespace ?? 'default',
    ...(namespace !== undefined && !allNamespaces && { namespace }),
    ...(selector !== undefined && { selector: selectorOf(selector) }),
  };
}

function selectorOf(text: string): LabelSelector {
  const selector = parseSelector(text);
  if (selector === undefined)
    throw new CommandError(`"${text}" is not a label selector: write app=web,tier in (a, b),!legacy`);
  return selector;
}

/** Whether a pod, or what a workload makes, is one that the question is about. */
export function isInScope(
  { namespace, selector }: Scope,
  item: { readonly namespace: string; readonly labels: Labels },
): boolean {
  if (namespace !== undefined && namespace !== item.namespace) return false;
  return selector === undefined || matchesLabels(selector, item.labels);
}

/**
 * Throws CommandError where -n names a namespace that nothing is in: one that is mistyped has no connection that opens, and
 * none that is denied. Policies do not count: those that name none are of the namespace of -n, whatever it is.
 */
export function refuseUnknownNamespace({ namespace }: Scope, known: Iterable<string>, where: string): void {
  const names = new Set(known);
  if (namespace === undefined || names.has(namespace)) return;
  const close = didYouMean(namespace, [...names]);
  const hint = close === undefined ? '' : `; did you mean ${close}?`;
  throw new CommandError(`there is no namespace ${namespace} ${where}${hint}`);
}

/** Those that are there, or that a pod or workload is in. */
export function namespacesOf({ cluster, inventory }: Pick<State, 'cluster' | 'inventory'>): string[] {
  const items = [...cluster.pods.values(), ...inventory.workloads.values()];
  return [...cluster.namespaces.keys(), ...items.map(({ namespace }) => namespace)];
}

/** Whether somebody is in it. */
export function isAnybodyIn(
  scope: Scope,
  { cluster, inventory }: Pick<State, 'cluster' | 'inventory'>,
): boolean {
  return [...cluster.pods.values(), ...inventory.workloads.values()].some(item => isInScope(scope, item));
}
