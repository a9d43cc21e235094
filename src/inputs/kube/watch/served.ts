import type { Problem } from '../../../model/problem.ts';
import { asMap, asMaps } from '../report/identity.ts';
import type { CustomPolicy } from './resource.ts';

/** What a CustomResourceDefinition says about the policies it defines. */
export type Served =
  /** `readAs`: a version that nobody knows here, read as the best one that is known. */
  | { readonly type: 'version'; readonly version: string; readonly readAs?: string }
  /** There may be policies, but none that anybody could read now; `versions` are those it is served in. */
  | { readonly type: 'unreadable'; readonly versions: readonly string[] }
  /** No definition, no policies. */
  | { readonly type: 'nowhere' };

/** The best version to read the policies in, of a definition; undefined is one that does not exist. */
export function servedVersion(definition: unknown, policy: CustomPolicy): Served {
  if (definition === undefined) return { type: 'nowhere' };
  return chooseVersion(isEstablished(definition) ? servedVersions(definition) : [], policy);
}

/** The best of the versions that are served. */
export function chooseVersion(served: readonly string[], { versions }: CustomPolicy): Served {
  const known = versions.find(version => served.includes(version));
  if (known !== undefined) return { type: 'version', version: known };
  const unknown = mostLikeOurs(served);
  if (unknown === undefined) return { type: 'unreadable', versions: served };
  return { type: 'version', version: unknown, readAs: versions[0]! };
}

export function whyUnreadable(
  { versions }: Extract<Served, { type: 'unreadable' }>,
  policy: CustomPolicy,
): string {
  if (versions.length === 0) return 'its definition is there, and it is served in no version';
  return `is served only as ${versions.join(', ')}, and can be read only as ${policy.versions.join(' or ')}`;
}

/** What is wrong with the versions themselves, whatever the policies say. */
export function versionProblem(served: Served, policy: CustomPolicy): Problem | undefined {
  const { kind } = policy;
  const problem = (message: string, effect: string): Problem => ({
    severity: 'error',
    object: kind,
    message,
    effect,
  });
  if (served.type === 'unreadable' && served.versions.length > 0)
    return problem(whyUnreadable(served, policy), 'what was last known of these policies stays in force');
  if (served.type !== 'version' || served.readAs === undefined) return undefined;
  return problem(
    `is served only as ${served.version}, which is not known here`,
    `it is read as ${served.readAs}: a rule with anything that was not in it matches nothing if it accepts, and denies everything if it denies or passes`,
  );
}

const VERSION = /^v(\d+)(?:(alpha|beta)(\d+))?$/;
const STABILITY = ['', 'beta', 'alpha'];

/** Of versions that came after those we know: the stable ones first, and of these the oldest. */
function mostLikeOurs(served: readonly string[]): string | undefined {
  const rank = (version: string) => {
    const [, major, level = '', minor = '0'] = VERSION.exec(version)!;
    return STABILITY.indexOf(level) * 1e6 + Number(major) * 1e3 + Number(minor);
  };
  return served.filter(version => VERSION.test(version)).toSorted((a, b) => rank(a) - rank(b))[0];
}

function servedVersions(definition: unknown): readonly string[] {
  return asMaps(asMap(asMap(definition).spec).versions)
    .filter(version => version.served === true)
    .map(version => String(version.name));
}

/** The server answers for a kind only once its names are accepted. */
function isEstablished(definition: unknown): boolean {
  const conditions = asMaps(asMap(asMap(definition).status).conditions);
  return conditions.some(({ type, status }) => type === 'Established' && status === 'True');
}
