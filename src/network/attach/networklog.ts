/** What the pod network logs with. */
export interface NetworkLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
