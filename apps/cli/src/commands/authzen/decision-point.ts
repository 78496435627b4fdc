import { resolve } from 'node:path'
import { JsonError, isJsonObject, member, readJsonBytes, writeJson } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { readBounded } from '../../connection/read-bounded.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { readText } from '../../files/files.ts'
import type { Options } from '../../arguments/options.ts'

const WELL_KNOWN = '/.well-known/authzen-configuration'
const TIMEOUT_MS = 15_000
const MAX_BYTES = 4_194_304

/** A response of a decision point. `body` is undefined when it is not JSON. */
export interface PointResponse {
  readonly status: number
  readonly headers: Headers
  readonly body: JsonValue | undefined
}

export interface PointRequest {
  readonly body?: JsonValue
  /** Sent as it is, in place of `body`. */
  readonly text?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A decision point by its identifier (AuthZEN 1.0, section 9). */
export class DecisionPoint {
  readonly identifier: string
  readonly #url: URL
  readonly #token: string | undefined

  constructor(identifier: string, token: string | undefined) {
    this.#url = readAddress(identifier, '--pdp')
    this.identifier = identifier.replace(/\/+$/, '')
    this.#token = token
  }

  /** The well-known path is between the host and the path of the identifier. */
  metadata(): Promise<PointResponse> {
    const { origin, pathname } = this.#url
    return this.#send(`${origin}${WELL_KNOWN}${pathname.replace(/\/+$/, '')}`, { method: 'GET', headers: {} })
  }

  post(url: string, { body, text, headers }: PointRequest): Promise<PointResponse> {
    const sent = text ?? writeJson(body ?? {})
    return this.#send(url, {
      method: 'POST',
      body: sent,
      headers: { 'Content-Type': 'application/json', ...this.#authorization(url), ...headers },
    })
  }

  /** A credential goes to the origin that the user named only. */
  #authorization(url: string): Readonly<Record<string, string>> {
    if (this.#token === undefined) return {}
    if (new URL(url).origin !== this.#url.origin)
      throw pointError('The metadata names an address on another origin. The credential was not sent there.')
    return { Authorization: `Bearer ${this.#token}` }
  }

  async #send(url: string, init: RequestInit): Promise<PointResponse> {
    try {
      // A redirect would take the question, and the credential, to another place.
      const signal = AbortSignal.timeout(TIMEOUT_MS)
      const response = await fetch(url, { ...init, redirect: 'manual', signal, cache: 'no-store' })
      return { status: response.status, headers: response.headers, body: parse(await readWhole(response)) }
    } catch (error) {
      if (error instanceof CommandError) throw error
      throw new CommandError(
        {
          code: 'unreachable',
          message: `Nothing answers at ${new URL(url).origin}.`,
          hint: 'Check --pdp, and that the service runs.',
          exitCode: 5,
        },
        { cause: error },
      )
    }
  }
}

/** Opens the decision point of --pdp, with the credential of --token-file. */
export async function openDecisionPoint({ cwd }: CommandContext, options: Options): Promise<DecisionPoint> {
  const file = options.text('token-file')
  const token = file === undefined ? undefined : (await readText(resolve(cwd, file))).trim()
  if (token !== undefined && !/^[\x21-\x7e]{1,16384}$/.test(token))
    throw usageError(`${file} does not contain a token.`)
  return new DecisionPoint(options.required('pdp'), token)
}

/** Accepts https, and http on this machine: elsewhere the credential would be readable on the way. */
export function readAddress(text: string, what: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isLocal = url !== undefined && /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname)
  if (url === undefined || (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal)))
    throw usageError(`${what} must be an https address, or http on this machine.`)
  if (url.username !== '' || url.password !== '' || /[?#]/.test(text))
    throw usageError(`${what} must not have credentials, a query or a fragment.`)
  return url
}

/** Reads the address of a route from metadata that is about this identifier. */
export function endpointOf(metadata: JsonObject, name: string, { identifier }: DecisionPoint): string {
  if (member(metadata, 'policy_decision_point') !== identifier)
    throw pointError(
      'The metadata is about another decision point.',
      'Give --pdp exactly as policy_decision_point of the metadata.',
    )
  const given = member(metadata, name)
  if (typeof given !== 'string') throw pointError(`The metadata has no ${name}.`)
  return readAddress(given, name).href
}

export function pointError(message: string, hint = 'Ask the operator of the decision point.', cause?: unknown) {
  return new CommandError({ code: 'decision_point', message, hint, exitCode: 3 }, { cause })
}

async function readWhole(response: Response): Promise<Uint8Array> {
  const bytes = await readBounded(response, MAX_BYTES)
  if (bytes === undefined) throw pointError(`The response is larger than ${MAX_BYTES} bytes.`)
  return bytes
}

function parse(bytes: Uint8Array): JsonValue | undefined {
  try {
    return readJsonBytes(bytes)
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

/** Returns the object of a 200 response, or throws with what the decision point says. */
export function requireObject({ status, body }: PointResponse): JsonObject {
  if (status === 200 && isJsonObject(body)) return body
  const said = isJsonObject(body) ? [member(body, 'reason'), member(body, 'error'), member(body, 'message')] : []
  const words = said.filter((each) => typeof each === 'string').join(': ')
  throw pointError(`The decision point answered ${status}${words === '' ? '' : ` (${words.slice(0, 300)})`}.`)
}
