/**
 * Names below which anybody may have one, as far as this short list knows them: it has what is seen in policies, and
 * is no list of public suffixes, which changes every week.
 */

/** Whoever asks for such a name says which address it has. */
const OF_ANY_ADDRESS = ['duckdns.org', 'dyndns.org', 'nip.io', 'no-ip.org', 'sslip.io', 'xip.io'];

/** Where CoreDNS answers for pods as kubeadm sets it up (`pods insecure`), `10-0-0-1.shop.pod.cluster.local` is 10.0.0.1. */
const OF_PODS = /^(?:(?:[^.]+\.)?pod\.)?cluster\.local$/;

/** Hosting: customers get a name, and what is behind it is theirs. */
const OF_CUSTOMERS = [
  'amazonaws.com',
  'appspot.com',
  'azurewebsites.net',
  'blob.core.windows.net',
  'cloudapp.azure.com',
  'digitaloceanspaces.com',
  'firebaseapp.com',
  'fly.dev',
  'github.io',
  'gitlab.io',
  'herokuapp.com',
  'netlify.app',
  'ngrok.io',
  'onrender.com',
  'pages.dev',
  'run.app',
  's3.amazonaws.com',
  'trycloudflare.com',
  'vercel.app',
  'web.app',
  'workers.dev',
];

/** Registries that sell names below two labels. */
const OF_REGISTRIES = [
  'ac.uk',
  'co.in',
  'co.jp',
  'co.kr',
  'co.nz',
  'co.uk',
  'co.za',
  'com.au',
  'com.br',
  'com.cn',
  'com.mx',
  'com.sg',
  'com.tr',
  'com.tw',
  'net.au',
  'org.uk',
];

/** Many customers behind the same addresses. */
const SHARED = [
  'akamaiedge.net',
  'akamaized.net',
  'azureedge.net',
  'b-cdn.net',
  'cdn.cloudflare.net',
  'cloudfront.net',
  'edgekey.net',
  'edgesuite.net',
  'fastly.net',
  'fastlylb.net',
  'github.io',
  'pages.dev',
  'workers.dev',
];

export type SharedName = 'any-address' | 'customers' | 'registry' | 'shared-address';

/** What is to be known of a pattern of `domainNames`; undefined where nothing is. */
export function sharedName(pattern: string): SharedName | undefined {
  const below = pattern.startsWith('*.') ? pattern.slice(2) : undefined;
  if (below !== undefined && (OF_ANY_ADDRESS.includes(below) || OF_PODS.test(below))) return 'any-address';
  if (below !== undefined && OF_CUSTOMERS.includes(below)) return 'customers';
  if (below !== undefined && OF_REGISTRIES.includes(below)) return 'registry';
  const name = below ?? pattern;
  return SHARED.some(suffix => name === suffix || name.endsWith(`.${suffix}`)) ? 'shared-address' : undefined;
}
