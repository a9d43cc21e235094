/** Which templates a selector selects: each selector is asked once, however many policies write it. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { contentText } from '../../lib/text/contenttext.ts';
import type { LabelSelector } from '../../model/labels.ts';
import {
  type Match,
  matchLabels,
  matchNamespace,
  type NamespaceSelector,
  type PodSelector,
} from '../../model/selector.ts';
import { Bits } from './bits.ts';
import type { Template } from './template.ts';

/** `maybe` holds those of which nobody can say (N68), and none of `yes`. */
export interface Selected {
  readonly yes: Bits;
  readonly maybe: Bits;
}

export class SelectedTemplates {
  readonly #templates: readonly Template[];
  readonly #known = new Map<string, Selected>();
  readonly #byNamespaces = new Map<string, Selected>();
  readonly #byLabels = new Map<string, Selected>();

  constructor(templates: readonly Template[]) {
    this.#templates = templates;
  }

  of(selector: PodSelector): Selected {
    const { namespaces, pods } = selector;
    return getOrMake(this.#known, `${contentText(namespaces)}${contentText(pods)}`, () =>
      both(this.#inNamespaces(namespaces), this.#withLabels(pods)),
    );
  }

  #inNamespaces(selector: NamespaceSelector): Selected {
    return getOrMake(this.#byNamespaces, contentText(selector), () => {
      const asked = new Map<string, Match>();
      return this.#each(({ namespace }) =>
        namespace.name === ''
          ? matchNamespace(selector, '', namespace)
          : getOrMake(asked, namespace.name, () => matchNamespace(selector, namespace.name, namespace)),
      );
    });
  }

  #withLabels(selector: LabelSelector): Selected {
    return getOrMake(this.#byLabels, contentText(selector), () =>
      this.#each(template => matchLabels(selector, template)),
    );
  }

  #each(match: (template: Template) => Match): Selected {
    const { length } = this.#templates;
    const [yes, maybe] = [new Bits(length), new Bits(length)];
    for (const [i, template] of this.#templates.entries()) {
      const found = match(template);
      if (found === 'yes') yes.add(i);
      else if (found === 'unknown') maybe.add(i);
    }
    return { yes, maybe };
  }
}

/** Selected for sure by both; maybe where neither says no and one does not know. */
function both(a: Selected, b: Selected): Selected {
  const yes = a.yes.and(b.yes);
  return { yes, maybe: a.yes.or(a.maybe).and(b.yes.or(b.maybe)).minus(yes) };
}
