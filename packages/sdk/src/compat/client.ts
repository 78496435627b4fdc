import { type Client, toAreas } from '../client.ts'
import { openConnection } from '../http/connection.ts'
import { EvidenceSender } from '../governed/evidence-sender.ts'
import type { Outbox } from '../governed/outbox.ts'
import { type ExistingNames, withExistingNames } from './names.ts'
import { DEFAULT_KEY_ID, type ExistingOptions, checkedSigner, readHeaders, toClientOptions } from './options.ts'
import type { CallOptions, CallRoute, Connection } from '../http/call.ts'
import { type JsonObject, type JsonValue, canonicalJson, readJson } from '@chancery/protocol'
import type { Query } from '../http/url.ts'
import { type ReadResponse, json, text } from '../http/read-response.ts'
import { UsageError } from '../errors.ts'

/** Calls by path, for routes that this library does not have. All other rules are those of the API groups. */
export interface RawTransport {
  adminPost(path: string, body?: JsonObject, options?: CallOptions): Promise<JsonValue>
  adminGet(path: string, query?: Query, options?: CallOptions): Promise<JsonValue>
  adminGetText(path: string, query?: Query, options?: CallOptions): Promise<string>
  publicPost(path: string, body?: JsonObject, options?: CallOptions): Promise<JsonValue>
  publicGet(path: string, query?: Query, options?: CallOptions): Promise<JsonValue>
  /** Calls only one instance, once. */
  publicGetAt(baseUrl: string, path: string, query?: Query, options?: CallOptions): Promise<JsonValue>
}

type Access = 'operator:standard' | 'public'

function rawTransport({ call, endpoints }: Connection): RawTransport {
  const get = <Answer>(
    [access, path]: readonly [Access, string],
    read: ReadResponse<Answer>,
    more: { readonly query?: Query | undefined; readonly options?: CallOptions | undefined; readonly at?: string },
  ): Promise<Answer> => {
    const { route, params, query } = readPath('GET', path, access)
    const { at, options } = more
    return call({
      route,
      params,
      query: { ...query, ...more.query },
      read,
      options,
      ...(at === undefined ? {} : { at, retry: 'never' }),
    })
  }
  const post = async (access: Access, path: string, body: JsonObject, options?: CallOptions): Promise<JsonValue> => {
    const { route, params, query } = readPath('POST', path, access)
    // Sent in canonical form, so that the signed text is the sent text.
    const canonical = readJson(canonicalJson(body)) as JsonObject
    return call({ route, params, query, body: canonical, read: anything, options })
  }
  return {
    adminPost: (path, body = {}, options) => post('operator:standard', path, body, options),
    adminGet: async (path, query, options) => get(['operator:standard', path], anything, { query, options }),
    adminGetText: async (path, query, options) => get(['operator:standard', path], text, { query, options }),
    publicPost: (path, body = {}, options) => post('public', path, body, options),
    publicGet: async (path, query, options) => get(['public', path], anything, { query, options }),
    publicGetAt: async (baseUrl, path, query, options) => {
      const at = baseUrl.replace(/\/+$/, '')
      if (!endpoints.includes(at)) throw new UsageError('this is none of the addresses of the client')
      return get(['public', path], anything, { query, options, at })
    },
  }
}

const anything = json((value) => value)

/** Fills `{name}` in a path, each value percent-encoded once. */
export function buildPath(template: string, params: Readonly<Record<string, string>> = {}): string {
  return template.replaceAll(/\{([a-z_]+)\}/g, (_whole, name: string) => {
    const value = Object.hasOwn(params, name) ? params[name] : undefined
    if (value === undefined || value === '') throw new UsageError(`${name} is required`)
    return encodeURIComponent(value)
  })
}

/**
 * Splits an encoded path, so that it is signed as the authority reads it: decoded. Each segment becomes a parameter;
 * the checks for dot segments and lone surrogates are those of every route.
 */
function readPath(
  method: 'GET' | 'POST',
  path: string,
  access: Access,
): { readonly route: CallRoute; readonly params: Record<string, string>; readonly query: Record<string, string> } {
  const [encoded = '', search = ''] = path.split('?', 2)
  if (!encoded.startsWith('/')) throw new UsageError('a path begins with /')
  const params: Record<string, string> = {}
  const segments = encoded.slice(1).split('/')
  const template = segments.map((segment, index) => {
    const value = decode(segment)
    if (value === segment && /^[A-Za-z0-9._~-]*$/.test(segment) && segment !== '.' && segment !== '..') return segment
    params[`p${index}`] = value
    return `{p${index}}`
  })
  const id = `${method} /${template.join('/')}` as CallRoute['id']
  const route: CallRoute = {
    id,
    method,
    path: `/${template.join('/')}`,
    params: Object.keys(params),
    access,
    response: 'json',
  }
  return { route, params, query: Object.fromEntries(new URLSearchParams(search)) }
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new UsageError('the path is not percent-encoded UTF-8')
  }
}

/** A client under the names of other libraries of this protocol: sub-clients, and calls by path. */
export interface ExistingClient extends ExistingNames, RawTransport {
  /** The first address, and all of them. */
  readonly baseUrl: string
  readonly baseUrls: readonly string[]
  /** The key id of signed admin calls. */
  readonly keyId: string
  readonly canSign: boolean
  readonly buildPath: typeof buildPath
  /** The same connection under the names of this library. */
  readonly client: Client
}

/** Accepts the options of other libraries, and returns the client that their code expects. */
export function createCompatClient(options: ExistingOptions): ExistingClient {
  const own = toClientOptions(options)
  const connection = openConnection(own, readHeaders(options.headers))
  const client = toAreas(connection)
  const sender = options.outbox === undefined ? undefined : senderOf(client, connection, options.outbox)
  return {
    ...withExistingNames(client, sender),
    ...rawTransport(connection),
    baseUrl: connection.endpoints[0] ?? '',
    baseUrls: connection.endpoints,
    keyId: own.operator?.signer.keyId ?? options.keyId ?? DEFAULT_KEY_ID,
    canSign: own.operator !== undefined,
    buildPath,
    client,
  }
}

/** Stores records that others signed; it has no key, so it does not sign again. */
function senderOf(client: Client, { clock }: Connection, outbox: Outbox): EvidenceSender {
  const sign = (): never => {
    throw new TypeError('this outbox only submits what is signed')
  }
  const executor = { signer: checkedSigner({ keyId: '', sign }), sovereignId: '' }
  return new EvidenceSender({ client, executor, outbox, clock, observe: () => undefined })
}
