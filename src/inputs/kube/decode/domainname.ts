import { endsInNumber, MOST_NAME } from '../../../model/domainname.ts';

// C39, with the underscore that service names begin with. Of letters beyond ASCII some have one of ASCII in lower case.
const NAME = /^(\*\.)?([a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9])?\.)+[a-z0-9]([-a-z0-9_]{0,61}[a-z0-9])?$/i;

/** What keeps a text from being one, as far as that is about its labels; for a sentence that ends in `is not …`. */
export function domainNameNoun(text: string): string {
  const name = text.replace(/\.$/, '');
  const below = name.replace(/^\*(\.|$)/, '');
  if (below.includes('*')) return 'a domain name (*. in front only, and once)';
  if (below.split('.').length >= 2) return 'a domain name';
  return `a domain name (it needs two labels${below === name ? '' : ' behind *.'}, as ${below === name ? '' : '*.'}example.org)`;
}

/**
 * A name that may stand in `domainNames`, in lower case and without the dot at its end, or undefined. Two labels
 * at least; `*.` at the beginning stands for one label or more (C38).
 */
export function parseDomainName(text: string): string | undefined {
  const name = text.replace(/\.$/, '');
  return name.length <= MOST_NAME && NAME.test(name) && !endsInNumber(name) ? name.toLowerCase() : undefined;
}
