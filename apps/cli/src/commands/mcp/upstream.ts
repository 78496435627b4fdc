import { randomUUID } from 'node:crypto'
import { type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { type Instant, type JsonObject, writeJson } from '@chancery/protocol'
import { requireServerName } from '@chancery/sdk/internal'
import { signRequest, type ProofIdentity } from '@chancery/sdk/protocol'
import type { Options } from '../../arguments/options.ts'
import { type NodeConnection, connectAsNode, loadCertificate } from '../../connection/node-folder.ts'
import type { CommandContext } from '../../context.ts'
import { type ServerMessage, readServerMessage } from './messages.ts'
import { readEvents } from './sse.ts'
import { dirname, join } from 'node:path'
import { usageError } from '../../errors/failure.ts'
import { type GuardRules, loadRules } from './rules.ts'

/** What the commands of this group read before they start. */
interface GuardHome {
  readonly connection: NodeConnection
  readonly rules: GuardRules
  readonly server: string
  readonly folder: string
  readonly pinsFile: string
}

/** Exactly one of a command of a server and the address of one. */
export type Target = { readonly words: readonly string[] } | { readonly upstream: URL }

export function readTarget(words: readonly string[], options: Options): Target {
  const upstream = options.text('upstream')
  if (words.length > 0 === (upstream !== undefined))
    throw usageError('Give exactly one server: --upstream <url>, or its command after --.')
  if (upstream === undefined) return { words }
  const url = URL.canParse(upstream) ? new URL(upstream) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '')
    throw usageError('--upstream is not an http or https address without a user name.')
  return { upstream: url }
}

/** Opens the folder of the node with the rules of a server. */
export async function openHome(context: CommandContext, options: Options, target: Target): Promise<GuardHome> {
  const connection = await connectAsNode(context, options)
  const home = dirname(connection.files.certificate)
  const file = options.text('rules') ?? join(home, 'mcp.yaml')
  const rules = await loadRules(context, file)
  const host = 'upstream' in target ? target.upstream.hostname.replaceAll(/[^A-Za-z0-9.-]/g, '') : undefined
  const server = options.text('server') ?? rules.server ?? host
  if (server === undefined) throw usageError('--server is missing: the name of the server in capabilities.')
  try {
    requireServerName(server)
  } catch (error) {
    throw usageError(`--server is not usable: ${error instanceof Error ? error.message : ''}.`)
  }
  const folder = join(home, 'mcp', server)
  return { connection, rules, server, folder, pinsFile: join(folder, 'pins.json') }
}

export type HeaderFields = Readonly<Record<string, string | readonly string[]>>

const HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** The guard checked the origin, decides on the encoding, and signs for itself. It writes the body again. */
const DROPPED: ReadonlySet<string> = new Set([
  'host',
  'origin',
  'accept-encoding',
  'expect',
  'signature',
  'signature-input',
])
const ASK_MS = 30_000
const MAX_BODY_BYTES = 64 * 1024 * 1024

/** Who signs requests to the server, and for which audience. */
export interface Proving {
  readonly audience: string
  readonly identity: () => Promise<ProofIdentity>
  readonly now: () => Instant
}

/** A server that is reached by HTTP. */
export class Upstream {
  readonly url: URL
  readonly #proving: Proving | undefined

  constructor(url: URL, proving: Proving | undefined) {
    this.url = url
    this.#proving = proving
  }

  /** Sends a request and returns the response when its headers arrived. */
  async send(method: string, headers: HeaderFields, body: Buffer, signal: AbortSignal): Promise<IncomingMessage> {
    const proof = await this.#proofOf(method, body)
    const request = this.url.protocol === 'https:' ? httpsRequest : httpRequest
    return new Promise((resolve, reject) => {
      const sent = request(this.url, {
        method,
        headers: {
          ...(headers as Record<string, string | string[]>),
          ...proof,
          'accept-encoding': 'identity',
          ...(method === 'POST' ? { 'content-type': 'application/json', 'content-length': String(body.length) } : {}),
        },
        signal,
      })
      sent.once('response', resolve)
      sent.once('error', reject)
      sent.end(body)
    })
  }

  /** Sends a request of the guard itself, with the credentials of the caller. */
  async ask(caller: HeaderFields, method: string, params: JsonObject): Promise<JsonObject | undefined> {
    const id = `chancery-guard-${randomUUID()}`
    const own = Object.entries(caller).filter(([name]) => !/^mcp-(name|param-.*)$/.test(name))
    const headers = {
      ...Object.fromEntries(own),
      ...(Object.hasOwn(caller, 'mcp-method') ? { 'mcp-method': method } : {}),
      accept: 'application/json, text/event-stream',
    }
    const body = Buffer.from(writeJson({ jsonrpc: '2.0', id, method, params }))
    try {
      const response = await this.send('POST', headers, body, AbortSignal.timeout(ASK_MS))
      return (await findResponse(response, id))?.result
    } catch {
      return undefined
    }
  }

  async #proofOf(method: string, body: Buffer): Promise<Record<string, string>> {
    if (this.#proving === undefined) return {}
    const { audience, identity, now } = this.#proving
    return { ...(await signRequest({ method, url: this.url.href, body, audience, now: now() }, await identity())) }
  }
}

/** Returns the response with this id, from JSON or from a stream. */
export async function findResponse(response: IncomingMessage, id: string): Promise<ServerMessage | undefined> {
  const isAnswer = (message: ServerMessage): boolean => message.kind === 'response' && message.id === id
  if (!isStream(response)) {
    const message = readServerMessage(await readAll(response))
    return isAnswer(message) ? message : undefined
  }
  for await (const { data = '' } of readEvents(response)) {
    const message = readServerMessage(data)
    if (!isAnswer(message)) continue
    response.destroy()
    return message
  }
  return undefined
}

export function isStream({ headers }: IncomingMessage): boolean {
  return /^text\/event-stream\s*(?:;|$)/i.test(headers['content-type'] ?? '')
}

/** True for a body that every reader decodes as the guard does: JSON in UTF-8 without compression. */
export function isPlainJson(headers: IncomingHttpHeaders): boolean {
  const type = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i
  return type.test(headers['content-type'] ?? '') && isNotEncoded(headers)
}

export function isNotEncoded(headers: IncomingHttpHeaders): boolean {
  return (headers['content-encoding'] ?? 'identity').toLowerCase() === 'identity'
}

export async function readAll(chunks: AsyncIterable<Uint8Array>, maxBytes: number = MAX_BODY_BYTES): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.length
    if (size > maxBytes) throw new RangeError('the body is too long')
    parts.push(chunk)
  }
  return Buffer.concat(parts)
}

/** Returns the headers of a caller that go to the server. */
export function passedHeaders(headers: IncomingHttpHeaders): HeaderFields {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()))
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ||
      HOP.has(name) ||
      DROPPED.has(name) ||
      named.has(name) ||
      /^(?:chancery|content)-/.test(name)
        ? []
        : [[name, value]],
    ),
  )
}

/** Returns the headers of a response that go to the caller. */
export function returnedHeaders({ headers }: IncomingMessage): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || HOP.has(name) || name.startsWith('content-') ? [] : [[name, value]],
    ),
  )
}

/** Opens the server of a command; with `--prove` requests to it are signed with the key of the node. */
export function openUpstream(context: CommandContext, { connection }: GuardHome, url: URL, options: Options): Upstream {
  const audience = options.text('prove')
  if (audience === undefined) return new Upstream(url, undefined)
  const { signer, files } = connection
  const identity = async (): Promise<ProofIdentity> => ({ signer, certificate: await loadCertificate(files) })
  return new Upstream(url, { audience, identity, now: context.now })
}
