import type { MaybePromise } from '@chancery/service-kit'

/** How a proxy sends the original request. It is a setting and never guessed: a client could add the headers itself. */
export type Dialect = 'envoy' | 'forwarded' | 'original' | 'grpc'

/** The request that a proxy asks about, as its client sent it. */
export interface CheckedRequest {
  readonly dialect: Dialect
  readonly method: string
  /** Path and query as in the request line of the client. */
  readonly target: string
  /** Names of all headers, as often as they were sent. */
  readonly names: readonly string[]
  /** Returns every value of a header. */
  all(name: string): readonly string[]
  /** Returns the body, as far as the proxy sent it. It is empty when the proxy sends none. */
  body(): MaybePromise<Uint8Array>
}

/** Headers of an answer that lets a request pass. Only the gateway may set them. */
export const RESULT_HEADERS = {
  node: 'chancery-node',
  network: 'chancery-network',
  roles: 'chancery-roles',
  nodeKey: 'chancery-node-key',
  decision: 'chancery-decision',
  bodyDigest: 'chancery-body-digest',
} as const

/** Why a request does not pass. nginx keeps this one of an answer only, and `www-authenticate`. */
export const REASON_HEADER = 'chancery-reason'

/** The length of a body that the proxy does not send to the check: `0`, another number, or `chunked`. */
const LENGTH_HEADER = 'x-original-length'

/**
 * Returns what the proxy says about a body that it does not send. Envoy sends bodies and no report; over gRPC it sends
 * the headers of the client, whose lengths it enforces. There a client could add the header of the other dialects.
 */
export function reportedBody(request: CheckedRequest): 'none' | 'some' | 'unknown' {
  const { dialect } = request
  if (dialect === 'envoy') return 'unknown'
  const names = dialect === 'grpc' ? ['content-length', 'transfer-encoding'] : [LENGTH_HEADER]
  const values = names.flatMap((name) => request.all(name))
  if (values.some((value) => value !== '' && value !== '0')) return 'some'
  // A proxy that knows no length may still pass on a body, for example of HTTP/2.
  return values.length > 0 && values.every((value) => value === '0') ? 'none' : 'unknown'
}

/** Some services take method or path from these headers, and the check uses the request line. */
export const OVERRIDES = [
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-url',
  'x-rewrite-url',
] as const

const REFUSED: ReadonlySet<string> = new Set([...Object.values(RESULT_HEADERS), REASON_HEADER, ...OVERRIDES])

/** True for a header that no client may send. Some services read `a_b`, `a.b` and `a-b` as one name. */
export function isRefusedHeader(name: string): boolean {
  // Every name begins with c or x. Most headers end here, and each request has many.
  if (!/^[cx]/i.test(name)) return false
  return REFUSED.has(name.toLowerCase().replaceAll(/[^a-z0-9]/g, '-'))
}
