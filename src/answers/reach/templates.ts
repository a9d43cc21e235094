/** The properties of pods that policies can tell apart, and which of them a selector selects. */
import { getOrMake } from '../../lib/collections/getormake.ts';
import { contentText } from '../../lib/text/contenttext.ts';
import type { ContainerPort, Namespace } from '../../model/cluster.ts';
import type { Labelled, LabelSelector } from '../../model/labels.ts';
import {
  matchLabels,
  matchNamespace,
  type NamespaceSelector,
  type PodSelector,
} from '../../model/selector.ts';
import { Bits } from './bits.ts';

/** The properties of a pod that policies can select by. Pods with the same properties share one template. */
interface Template extends Labelled {
  readonly namespace: Namespace;
  /** A text that is equal for the same namespace with the same labels. */
  readonly namespaceText: string;
  /** The ports whose names occur in policies, each once. */
  readonly ports: readonly ContainerPort[];
  /** A text that is equal for templates with the same ports. */
  readonly portsText: string;
}

/** A pod as its owner describes it, whether there is one or not. */
export interface PodLike extends Labelled {
  readonly ports: readonly ContainerPort[];
}

/** What policies ask of pods. */
interface Words {
  readonly labelKeys: ReadonlySet<string>;
  readonly portNames: ReadonlySet<string>;
}

export class Templates {
  readonly all: Template[] = [];
  readonly #byText = new Map<string, number>();
  readonly #namespaceTexts = new Map<Namespace, string>();
  readonly #words: Words;

  constructor(words: Words) {
    this.#words = words;
  }

  /** The index of the template of a pod. */
  indexOf(pod: PodLike, namespace: Namespace): number {
    const { labelKeys, portNames } = this.#words;
    const labels = Object.entries(pod.labels).filter(([key]) => labelKeys.has(key));
    const portsText = portsTextOf(pod.ports.filter(({ name }) => portNames.has(name)));
    const namespaceText = getOrMake(this.#namespaceTexts, namespace, () => textOfNamespace(namespace));
    const text = JSON.stringify([namespaceText, labels.sort(), pod.partial, portsText]);
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    const partial = pod.partial && { partial: pod.partial };
    const ports = JSON.parse(portsText) as ContainerPort[];
    this.#byText.set(text, this.all.length);
    const template = { namespace, namespaceText, labels: Object.fromEntries(labels), ...partial };
    return this.all.push({ ...template, ports, portsText }) - 1;
  }
}

function portsTextOf(ports: readonly ContainerPort[]): string {
  const texts = ports.map(({ name, protocol, port }) => JSON.stringify({ name, protocol, port }));
  return `[${[...new Set(texts)].sort()}]`;
}

/** A namespace that is imagined may have the name of one of which the labels are not known. */
function textOfNamespace({ name, labels, partial }: Namespace): string {
  return JSON.stringify([name, Object.entries(labels).sort(), partial]);
}

// Each selector is evaluated once, however many policies contain it.

/** `indeterminate` are those that are neither selected nor excluded for sure (N68); none of them is in `yes`. */
export interface Selected {
  readonly yes: Bits;
  readonly indeterminate: Bits;
}

export class SelectedTemplates {
  readonly #templates: readonly Template[];
  /** By the selector, and by its text: comparing texts takes longer. */
  readonly #known = new WeakMap<PodSelector, Selected>();
  readonly #byText = new Map<string, Selected>();
  readonly #byNamespaces = new Map<string, Selected>();
  readonly #byLabels = new Map<string, Selected>();
  /** The templates of each namespace, by its text. */
  readonly #ofNamespace = new Map<string, { readonly namespace: Namespace; readonly templates: Bits }>();
  /** By key and value the templates with a label, and those that may have any. */
  readonly #withLabel = new Map<string, Map<string, number[]>>();
  readonly #partial: number[] = [];

  constructor(templates: readonly Template[]) {
    this.#templates = templates;
    for (const [i, { namespace, namespaceText, labels, partial }] of templates.entries()) {
      const none = () => ({ namespace, templates: new Bits(templates.length) });
      getOrMake(this.#ofNamespace, namespaceText, none).templates.add(i);
      if (partial) this.#partial.push(i);
      for (const [key, value] of Object.entries(labels))
        getOrMake(
          getOrMake(this.#withLabel, key, () => new Map<string, number[]>()),
          value,
          () => [],
        ).push(i);
    }
  }

  of(selector: PodSelector): Selected {
    return getOrMake(this.#known, selector, () =>
      getOrMake(this.#byText, contentText(selector), () =>
        both(this.#inNamespaces(selector.namespaces), this.#withLabels(selector.pods)),
      ),
    );
  }

  #inNamespaces(selector: NamespaceSelector): Selected {
    return getOrMake(this.#byNamespaces, contentText(selector), () => {
      const { length } = this.#templates;
      let [yes, indeterminate] = [new Bits(length), new Bits(length)];
      for (const { namespace, templates } of this.#ofNamespace.values()) {
        const match = matchNamespace(selector, namespace.name, namespace);
        if (match === 'yes') yes = yes.or(templates);
        else if (match === 'unknown') indeterminate = indeterminate.or(templates);
      }
      return { yes, indeterminate };
    });
  }

  #withLabels(selector: LabelSelector): Selected {
    return getOrMake(this.#byLabels, contentText(selector), () => {
      const { length } = this.#templates;
      const [yes, indeterminate] = [new Bits(length), new Bits(length)];
      for (const i of this.#candidates(selector)) {
        const match = matchLabels(selector, this.#templates[i]!);
        if (match === 'yes') yes.add(i);
        else if (match === 'unknown') indeterminate.add(i);
      }
      return { yes, indeterminate };
    });
  }

  /** All that the selector may select, and perhaps others: few have a label that it demands. */
  #candidates({ requirements }: LabelSelector): Iterable<number> {
    const demand = requirements.find(({ operator }) => operator === 'In');
    if (demand === undefined) return this.#templates.keys();
    const having = this.#withLabel.get(demand.key);
    return [...this.#partial, ...demand.values.flatMap(value => having?.get(value) ?? [])];
  }
}

/** Selected by both; indeterminate where neither excludes it and one of them is indeterminate. */
function both(a: Selected, b: Selected): Selected {
  const yes = a.yes.and(b.yes);
  // As nearly always.
  if (a.indeterminate.isEmpty() && b.indeterminate.isEmpty()) return { yes, indeterminate: a.indeterminate };
  return { yes, indeterminate: a.yes.or(a.indeterminate).and(b.yes.or(b.indeterminate)).minus(yes) };
}
