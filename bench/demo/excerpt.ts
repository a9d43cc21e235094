/** An excerpt of `nft list table ip sluice`: the rules on the way of a packet to one pod. */
import { execFileSync } from 'node:child_process';
import { inNamespace } from '../lab/netns.ts';

/** The hook, the pod's element of the map, and all that it leads to; as nft prints it. */
export function excerptFor(pod: string, namespace: string): string[] {
  const list = () => execFileSync('nft', ['list', 'table', 'ip', 'sluice'], { encoding: 'utf8' });
  return cutOut(pod, inNamespace(namespace, list));
}

export function cutOut(pod: string, listing: string): string[] {
  const blocks = blocksOf(listing);
  const map = onlyElement(blocks.get('ingress-pods') ?? [], `"${pod}"`);
  const rest = [...reachable(blocks, targetsOf(map))].map(name => blocks.get(name)!);
  return [blocks.get('forward') ?? [], map, ...rest].flat();
}

/** Sets, maps and chains by name, each element list on one line. */
function blocksOf(listing: string): Map<string, string[]> {
  const text = listing.replace(/elements = \{[^}]*\}/g, elements => elements.replace(/\s+/g, ' '));
  const blocks = text.matchAll(/^\t(?:chain|map|set) (\S+) \{\n[\s\S]*?^\t\}/gm);
  return new Map([...blocks].map(([block, name]) => [name!, block.split('\n').map(unindent)]));
}

function unindent(line: string): string {
  return line.replace(/^\t/, '').replaceAll('\t', '  ');
}

/** An element list without all the others. */
function onlyElement(block: readonly string[], mark: string): string[] {
  return block.map(line => {
    const [, list] = /elements = \{ (.*) \}/.exec(line) ?? [];
    if (list === undefined) return line;
    const elements = list.match(/(?:"[^"]*"|[^,"])+/g) ?? [];
    const one = elements.find(element => element.includes(mark))?.trim();
    return `  elements = { ${one}${elements.length > 1 ? ', …' : ''} }`;
  });
}

/** The chains in the order in which a packet reaches them. */
function reachable(
  blocks: ReadonlyMap<string, readonly string[]>,
  names: readonly string[],
  seen = new Set<string>(),
): Set<string> {
  for (const name of names) {
    const block = blocks.get(name);
    if (block === undefined || seen.has(name)) continue;
    seen.add(name);
    reachable(blocks, targetsOf(block), seen);
  }
  return seen;
}

function targetsOf(block: readonly string[]): string[] {
  return [...block.join('\n').matchAll(/(?:goto |jump |@)([\w/.-]+)/g)].map(([, name]) => name!);
}
