import { execFileSync } from 'node:child_process';

/** A certificate that signs itself, for 127.0.0.1 and kubernetes. */
export function makeCertificate(certFile: string, keyFile: string): void {
  const files = ['-keyout', keyFile, '-out', certFile];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const names = ['-subj', '/CN=kubernetes', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:kubernetes'];
  execFileSync('openssl', ['req', ...kind, ...files, ...names], { stdio: 'ignore' });
}
