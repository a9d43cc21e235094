import { type LabelSelector, type Labels, matchesLabels } from '../model/selector.ts';
import { parseSelector } from '../model/selectortext.ts';
import { CommandError } from '../terminal/commanderror.ts';
import type { SourceOptions } from './options.ts';
import type { Scope } from './state.ts';

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
