/** The oldest Node that every library of ours takes: undici asks for it. */
export const OLDEST_NODE = '22.19.0';

/** Whether this version of Node.js can run us; else the one in our node_modules has to. */
export function canRunUs(version: string): boolean {
  const [major, minor] = numbersOf(version);
  const [oldestMajor, oldestMinor] = numbersOf(OLDEST_NODE);
  return major === oldestMajor ? minor >= oldestMinor : major > oldestMajor;
}

function numbersOf(version: string): [number, number] {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return [major, minor];
}
