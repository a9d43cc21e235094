/** Whether a route may lead to a Service of another namespace, which has to grant it. */
import type { Backend, RouteGrant } from '../../model/service.ts';

/** Without a ReferenceGrant gateways lead nobody there, whatever a route of another tenant says. */
export function isGranted({ grantedTo, service }: Backend, grants: readonly RouteGrant[]): boolean {
  if (grantedTo === undefined) return true;
  return grants.some(
    ({ from, namespace, service: only }) =>
      from.kind === grantedTo.kind &&
      from.namespace === grantedTo.namespace &&
      (only === undefined ? service.startsWith(`${namespace}/`) : service === `${namespace}/${only}`),
  );
}
