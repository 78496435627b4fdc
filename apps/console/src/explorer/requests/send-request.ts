import { GATEWAY_ROUTES, type Mesh } from '@chancery/contract'

/** Requests of the explorer. All go to the gateway that served the page (protocol/gateway 17). */

const LIMIT_MS = 20_000

export interface Question {
  readonly method: string
  /** Path and query at this gateway. */
  readonly target: string
  readonly token?: string | undefined
  /** Sent unchanged, because the signature covers this text. */
  readonly body?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** One response of any status, for display. */
export interface Reply {
  readonly status: number
  readonly text: string
  readonly milliseconds: number
  readonly requestId: string | undefined
  readonly upstreamRequestId: string | undefined
  readonly retryAfter: string | undefined
}

/** No response arrived, so the outcome is unknown. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError'
}

/** Sends no cookies, follows no redirects, which could leak the token, and caches nothing. */
export async function sendRequest({ method, target, token, body, headers }: Question): Promise<Reply> {
  const started = performance.now()
  try {
    const response = await fetch(target, {
      method,
      credentials: 'omit',
      redirect: 'error',
      cache: 'no-store',
      signal: AbortSignal.timeout(LIMIT_MS),
      headers: {
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    })
    return {
      status: response.status,
      text: await response.text(),
      milliseconds: Math.round(performance.now() - started),
      requestId: response.headers.get('x-request-id') ?? undefined,
      upstreamRequestId: response.headers.get('x-upstream-request-id') ?? undefined,
      retryAfter: response.headers.get('retry-after') ?? undefined,
    }
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === 'TimeoutError'
    throw new NoResponseError(
      isLate
        ? `No response within ${LIMIT_MS / 1000} seconds. The request may have been executed. Check the state before you repeat it.`
        : 'The gateway did not respond. The request may have been executed. Check the state before you repeat it.',
      { cause: error },
    )
  }
}

export function isSuccess({ status }: Reply): boolean {
  return status >= 200 && status < 300
}

export async function loadMesh(): Promise<Mesh> {
  const reply = await sendRequest({ method: 'GET', target: GATEWAY_ROUTES.mesh.path })
  if (!isSuccess(reply)) throw new Error(`The mesh could not be read: status ${reply.status}.`)
  // Page and gateway are of one release, so the response has the contract's type.
  return JSON.parse(reply.text) as Mesh
}

const OLD_MS = 90_000

/** Returns why the drawing may be outdated; undefined while it is current. */
export function findStaleReason(mesh: Mesh, hasFailed: boolean, nowMs: number): string | undefined {
  const seconds = Math.max(0, Math.round((nowMs - Date.parse(mesh.observed_at)) / 1000))
  if (hasFailed) return `The gateway did not respond to the last request. This data was observed ${seconds} s ago.`
  if (mesh.stale === true)
    return `The gateway is reading the authorities again. This data was observed ${seconds} s ago.`
  if (seconds * 1000 > OLD_MS)
    return `This data was observed ${seconds} s ago, or the clock of this computer differs from the gateway's.`
  return undefined
}

/** Splits JSON text into tokens. Only white space is between them. */
const PIECES = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/**
 * Indents JSON. Works on the text, not on values, so that numbers keep their signed digits. Returns other text
 * unchanged.
 */
export function indentJson(text: string): string {
  if (!/^\s*[{[]/.test(text)) return text
  let depth = 0
  let isOpened = false
  let lines = ''
  for (const [piece] of text.matchAll(PIECES)) {
    const isClosing = piece === '}' || piece === ']'
    if (isClosing) depth -= 1
    if (isClosing ? !isOpened : isOpened) lines += newLine(depth)
    isOpened = piece === '{' || piece === '['
    if (isOpened) depth += 1
    lines += piece === ':' ? ': ' : piece === ',' ? `,${newLine(depth)}` : piece
  }
  return lines
}

function newLine(depth: number): string {
  return `\n${'  '.repeat(Math.max(0, depth))}`
}

/** Times in examples: the first one means now, later ones mean later. */
const TIME = /"(20\d\d)-01-01T00:00:00Z"/g
const FIRST_YEAR = '2026'
const LATER_MS = 24 * 3_600_000

/** Returns an example with current times, indented. The times of the catalogue are in the past. */
export function freshExample(body: string, nowMs: number): string {
  const at = (ms: number): string => `"${new Date(ms).toISOString().slice(0, 19)}Z"`
  return indentJson(body.replaceAll(TIME, (_, year) => at(year === FIRST_YEAR ? nowMs : nowMs + LATER_MS)))
}
