import { readFile } from 'node:fs/promises'
import { Agent, request } from 'node:https'
import { type JsonObject, isJsonObject, readJsonBytes } from '@chancery/protocol'

/** A key service over HTTPS. Another process may rotate its token, so the file is read for each call. */
export interface KeyServiceOptions {
  /** Scheme, host and port; https only. */
  readonly origin: string
  readonly caFile: string | undefined
  readonly token: { readonly file: string }
}

export interface KeyServiceCall {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: JsonObject
}

const SECONDS = 5
const MAX_BYTES = 65_536

// A separate agent with explicit options for each call: neither a proxy nor disabled certificate checks are taken from
// the environment.
const agent = new Agent({ keepAlive: true })

/** The service refused, or returned an unusable response. The message never contains what was sent or received. */
export class KeyServiceError extends Error {
  override readonly name = 'KeyServiceError'
}

export async function readToken({ token }: KeyServiceOptions): Promise<string> {
  return (await readFile(token.file, 'utf8')).trim()
}

/** One request: verified TLS, no redirect, no proxy, limited in time and size. The response must be a JSON object. */
export async function callKeyService(place: KeyServiceOptions, call: KeyServiceCall): Promise<JsonObject> {
  const ca = place.caFile === undefined ? undefined : await readFile(place.caFile)
  const data = call.body === undefined ? undefined : JSON.stringify(call.body)
  const { status, bytes } = await exchange(new URL(`${place.origin}${call.path}`), call, data, ca)
  if (status !== 200) throw new KeyServiceError(`the key service returned ${status}`)
  let value: unknown
  try {
    value = readJsonBytes(bytes)
  } catch (error) {
    throw new KeyServiceError('the key service did not return JSON', { cause: error })
  }
  if (!isJsonObject(value as JsonObject)) throw new KeyServiceError('the key service returned an unexpected response')
  return value as JsonObject
}

function exchange(
  url: URL,
  { method, headers }: KeyServiceCall,
  data: string | undefined,
  ca: Buffer | undefined,
): Promise<{ readonly status: number; readonly bytes: Uint8Array }> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(new KeyServiceError('cannot reach the key service', { cause: error }))
    const options = {
      method,
      headers: {
        accept: 'application/json',
        ...(data === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      signal: AbortSignal.timeout(SECONDS * 1000),
      minVersion: 'TLSv1.2' as const,
      rejectUnauthorized: true,
      agent,
      ...(ca === undefined ? {} : { ca }),
    }
    const outgoing = request(url, options, (response) => {
      const chunks: Buffer[] = []
      let length = 0
      response.on('data', (chunk: Buffer) => {
        length += chunk.length
        if (length > MAX_BYTES) response.destroy(new Error('the response is too long'))
        else chunks.push(chunk)
      })
      response.on('error', fail)
      response.on('end', () => resolve({ status: response.statusCode ?? 0, bytes: Buffer.concat(chunks) }))
    })
    outgoing.on('error', fail)
    outgoing.end(data)
  })
}
