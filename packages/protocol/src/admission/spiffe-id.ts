export interface SpiffeId {
  readonly trustDomain: string
  /** With its leading slash; never empty. */
  readonly path: string
}

const MAX_BYTES = 2048
const MAX_DOMAIN = 255
const FORM = /^spiffe:\/\/([a-z0-9._-]+)((?:\/[A-Za-z0-9._-]+)+)$/

/**
 * Reads the SPIFFE ID of a workload, or gives undefined. The form is strict: no percent, no empty segment, no `.` and
 * `..`, no trailing slash, no port, query or fragment. So two texts never name one workload.
 */
export function readSpiffeId(text: string): SpiffeId | undefined {
  if (text.length > MAX_BYTES) return undefined
  const [, trustDomain = '', path = ''] = FORM.exec(text) ?? []
  if (trustDomain === '' || trustDomain.length > MAX_DOMAIN) return undefined
  if (path.split('/').some((segment) => segment === '.' || segment === '..')) return undefined
  return { trustDomain, path }
}
