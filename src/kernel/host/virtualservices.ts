/** /proc/net/ip_vs as text: a line for each virtual service, and under it one for each of its servers. */
export function countVirtualServices(text: string): number {
  return text.split('\n').filter(line => /^(TCP|UDP|SCTP|FWM) /.test(line)).length;
}
