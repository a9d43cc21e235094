/** The syntax of names, labels and ports as the API server checks it. */

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL_WORD = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

export function isDnsLabel(text: string): boolean {
  return text.length <= 63 && DNS_LABEL.test(text);
}

export function isDnsSubdomain(text: string): boolean {
  return text.length <= 253 && DNS_SUBDOMAIN.test(text);
}

/** `app`, `kubernetes.io/metadata.name`. */
export function isLabelKey(text: string): boolean {
  const slash = text.indexOf('/');
  return isLabelWord(text.slice(slash + 1)) && (slash === -1 || isDnsSubdomain(text.slice(0, slash)));
}

export function isLabelValue(text: string): boolean {
  return text === '' || isLabelWord(text);
}

function isLabelWord(text: string): boolean {
  return text.length <= 63 && LABEL_WORD.test(text);
}

/** At most 15 of a-z, 0-9 and single inner dashes, with one letter at least: "80" is no name. */
export function isPortName(text: string): boolean {
  return text.length <= 15 && DNS_LABEL.test(text) && /[a-z]/.test(text) && !text.includes('--');
}
