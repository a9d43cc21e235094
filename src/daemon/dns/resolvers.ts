/** The resolvers that the node's pods ask: those that the kubelet gives to us as to them, and what is named beside. */
import { readFileSync } from 'node:fs';
import { type Address, isLoopback, parseAddress } from '../../model/address.ts';

/** The `nameserver` lines of resolv.conf(5); a resolver on loopback is no pod's. */
export function resolversIn(resolvConf: string): Address[] {
  return resolvConf.split('\n').flatMap(line => {
    const [word, text = ''] = line.trim().split(/\s+/);
    const address = word === 'nameserver' ? parseAddress(text) : undefined;
    return address === undefined || isLoopback(address) ? [] : [address];
  });
}

/** None where the file cannot be read: then `named` are all there are. */
export function readResolvers(named: readonly Address[], file = '/etc/resolv.conf'): readonly Address[] {
  return [...new Set([...named, ...resolversIn(contentOf(file))])].sort();
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
