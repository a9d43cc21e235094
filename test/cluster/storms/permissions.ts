/** What the ClusterRole of daemonset/ permits, and what the audit log says was asked for. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Manifest } from './api.ts';
import { AUDIT_USER, type AuditLine, auditLines } from './audit.ts';

const ROLE = join(import.meta.dirname, '../../../daemonset/base/clusterrole.yaml');

export interface Permission {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  /** Of one object only. */
  readonly name?: string;
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** One for each verb on each resource, sorted by their texts. */
export function writtenPermissions(): Permission[] {
  const { rules } = readRole();
  return rules.flatMap(permissionsOf).toSorted((a, b) => (permissionText(a) < permissionText(b) ? -1 : 1));
}

/** `list networking.k8s.io/networkpolicies`. */
export function permissionText({ verb, group, resource, name }: Permission): string {
  return `${verb} ${group === '' ? '' : `${group}/`}${resource}${name === undefined ? '' : ` ${name}`}`;
}

/** The role without that one permission, or as it is. */
export function without(missing: Permission | undefined): Manifest {
  const { rules, ...role } = readRole();
  const kept = rules
    .flatMap(permissionsOf)
    .filter(permission => missing === undefined || permissionText(permission) !== permissionText(missing));
  return { ...role, rules: kept.map(toRule) };
}

/** Every permission that the agent's requests needed, once, sorted. */
export function usedPermissions(auditLog: string): string[] {
  const asked = auditLines(auditLog)
    .filter(({ user }) => user.username === AUDIT_USER)
    .map(requestText);
  return [...new Set(asked)].toSorted();
}

function requestText({ verb, objectRef }: AuditLine): string {
  if (objectRef === undefined) return `${verb} of something that is no resource`;
  const { apiGroup: group = '', resource, name } = objectRef;
  // The name of what is made is in the body, and no permission can say it.
  return permissionText({ verb, group, resource, ...(name !== undefined && verb !== 'create' && { name }) });
}

function readRole(): Manifest & { readonly rules: readonly Rule[] } {
  return parse(readFileSync(ROLE, 'utf8')) as Manifest & { rules: Rule[] };
}

function permissionsOf({ apiGroups, resources, verbs, resourceNames }: Rule): Permission[] {
  return apiGroups.flatMap(group =>
    resources.flatMap(resource =>
      verbs.flatMap(verb =>
        (resourceNames ?? [undefined]).map(name => ({
          verb,
          group,
          resource,
          ...(name !== undefined && { name }),
        })),
      ),
    ),
  );
}

function toRule({ verb, group, resource, name }: Permission): Rule {
  const rule = { apiGroups: [group], resources: [resource], verbs: [verb] };
  return name === undefined ? rule : { ...rule, resourceNames: [name] };
}
