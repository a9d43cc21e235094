/** The oldest Node that every library of ours takes: undici asks for it. */
export const OLDEST_NODE = '22.19.0';

/** Whether Node of this version can run us, or the one that was installed beside us has to. */
export function canRunUs(version: string): boolean {
  const [major, minor] = numbersOf(version);
  const [oldestMajor, oldestMinor] = numbersOf(OLDEST_NODE);
  return major === oldestMajor ? minor >= oldestMinor : major > oldestMajor;
}

function numbersOf(version: string): [number, number] {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return [major, minor];
}
