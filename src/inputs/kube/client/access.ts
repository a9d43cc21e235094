/** The address of an API server, and the credentials. */
export interface Access {
  /** `https://10.96.0.1:443`, without a slash at its end. */
  readonly server: string;
  /** PEM. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** The name to expect in the server's certificate, if it is not the host of `server`. */
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
  /** `http://proxy:3128`. */
  readonly proxy?: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Loads the access anew each time: tokens and certificates are replaced while we run. */
export type LoadAccess = () => Promise<Access>;
