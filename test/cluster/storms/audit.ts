/** The API server's audit log: one line of JSON for each request and stage. */

/** The agent, by its name at the API server. */
export const AUDIT_USER = 'system:serviceaccount:sluice:sluice';

export interface AuditLine {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly apiGroup?: string; readonly resource: string; readonly name?: string };
}

export function auditLines(log: string): AuditLine[] {
  return log
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as AuditLine);
}
