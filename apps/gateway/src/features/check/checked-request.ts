import type { MaybePromise, RequestHeaders } from '@chancery/service-kit'
import type { JoinCertificate } from '@chancery/protocol'
import type { Core } from '../../core.ts'
import type { DecisionParts } from '../decisions/index.ts'
import { GatewayRefusal } from '@chancery/contract'

/** Characters of the texts in each of the two groups. */
const MAX_CHARACTERS = 8_388_608

/**
 * The trusted certificates of recent request proofs by their text, so that a node that calls often is not read and
 * verified from the start each time. Only what depends on the text alone is reused: whether a certificate is revoked or
 * expired is checked for every request. The older of two groups is removed when the newer one is full.
 */
export class ReadCertificates {
  readonly #maxCharacters: number
  #earlier = new Map<string, JoinCertificate>()
  #recent = new Map<string, JoinCertificate>()
  #characters = 0

  constructor(maxCharacters = MAX_CHARACTERS) {
    this.#maxCharacters = maxCharacters
  }

  find(text: string): JoinCertificate | undefined {
    const recent = this.#recent.get(text)
    if (recent !== undefined) return recent
    const earlier = this.#earlier.get(text)
    if (earlier !== undefined) this.store(text, earlier)
    return earlier
  }

  store(text: string, certificate: JoinCertificate): void {
    if (this.#recent.has(text)) return
    if (this.#characters + text.length > this.#maxCharacters) {
      this.#earlier = this.#recent
      this.#recent = new Map()
      this.#characters = 0
    }
    this.#recent.set(text, certificate)
    this.#characters += text.length
  }
}

/** Lists what the checks use. */
export interface CheckParts
  extends DecisionParts, Pick<Core, 'settings' | 'trust' | 'state' | 'audit' | 'refusals' | 'log' | 'isServing'> {
  readonly certificates: ReadCertificates
}

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

/** The approval that a request waits for, in an answer; the one that it uses, in a request. */
export const APPROVAL_HEADERS = { id: 'chancery-approval', state: 'chancery-approval-state' } as const

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

/** The path of the check on its listener. Everything below it belongs to the check, too. */
export const CHECK_PREFIX = '/check'

type HttpDialect = Exclude<Dialect, 'grpc'>

/** Where method and target are. Envoy sends the original request line after the prefix. */
const HEADERS = {
  forwarded: ['x-forwarded-method', 'x-forwarded-uri'],
  original: ['x-original-method', 'x-original-uri'],
} as const

interface AskedRequest {
  readonly method: string
  readonly target: string
  readonly headers: RequestHeaders
}

/** Returns method and target of the original request. Refuses what has two readings. */
export function readOriginal(dialect: HttpDialect, asked: AskedRequest): Pick<CheckedRequest, 'method' | 'target'> {
  const below = asked.target.startsWith(CHECK_PREFIX) ? asked.target.slice(CHECK_PREFIX.length) : undefined
  if (below === undefined || !/^(?:$|[/?])/.test(below)) throw new GatewayRefusal('check_headers')
  if (dialect === 'envoy') return checkOriginal({ method: asked.method, target: below })
  const [method, target] = HEADERS[dialect].map((name) => onlyValue(asked.headers.all(name)))
  return checkOriginal({ method: method ?? '', target: target ?? '' })
}

/** A repeated header has two readings. */
function onlyValue(values: readonly string[]): string {
  const [value] = values
  if (value === undefined || values.length !== 1) throw new GatewayRefusal('check_headers')
  return value
}

/** Visible ASCII. Absolute form, authority form and fragments are refused, as at the edge of the gateway. */
export function checkOriginal(original: { readonly method: string; readonly target: string }): typeof original {
  const { method, target } = original
  const isPlain = /^[A-Z][A-Z-]{0,31}$/.test(method) && /^\/[!-~]*$/.test(target) && !target.includes('#')
  if (!isPlain || method === 'TRACE' || method === 'CONNECT') throw new GatewayRefusal('check_headers')
  return original
}
