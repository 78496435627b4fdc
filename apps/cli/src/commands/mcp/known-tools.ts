import { type JsonObject, type JsonValue, isJsonObject, member } from '@chancery/protocol'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { toolDigest } from '@chancery/sdk/mcp'
import { CommandError } from '../../errors/failure.ts'
import { FOR_ALL, errorCode, readText, replaceFile } from '../../files/files.ts'
import { parseJsonObject } from '../../files/json-file.ts'

/** Digests of approved tools by name. A server may describe a tool differently in the two eras, so there are several. */
export type Pins = ReadonlyMap<string, readonly string[]>

const FORMAT = 'chancery.mcp.pins.v1'

/** Reads the pins of a server; none without a file. A damaged file is an error. */
export async function loadPins(path: string): Promise<Pins> {
  let text: string
  try {
    text = await readText(path)
  } catch (error) {
    if (error instanceof CommandError && errorCode(error.cause) === 'ENOENT') return new Map()
    throw error
  }
  const value = parseJsonObject(text)
  const tools = value === undefined || member(value, 'format') !== FORMAT ? undefined : member(value, 'tools')
  if (!isJsonObject(tools) || !Object.values(tools).every(isDigests)) {
    const message = `${path} does not contain pinned tools.`
    throw new CommandError({
      code: 'invalid_file',
      message,
      hint: 'Delete it, then run: chancery agent guard-mcp --pin',
    })
  }
  return new Map(Object.entries(tools) as [string, readonly string[]][])
}

function isDigests(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

export async function storePins(path: string, pins: Pins): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const document = { format: FORMAT, tools: Object.fromEntries(pins) }
  await replaceFile(path, `${JSON.stringify(document, undefined, 2)}\n`, FOR_ALL)
}

/** Returns the digests of listed tools by name; undefined for a list that cannot be used. */
export function digestsOf(tools: readonly JsonObject[]): ReadonlyMap<string, string> | undefined {
  const digests = new Map<string, string>()
  for (const tool of tools) {
    const name = member(tool, 'name')
    // With two tools of one name, it is not clear which one a call means.
    if (typeof name !== 'string' || digests.has(name)) return undefined
    digests.set(name, toolDigest(tool))
  }
  return digests
}

/** Sends a request of the guard itself and returns the result; undefined for an error or a lost response. */
export type AskServer = (method: string, params: JsonObject) => Promise<JsonObject | undefined>

/** A tool of a server, as far as a call of it needs it. */
export interface KnownTool {
  readonly digest: string
  /** Arguments that HTTP requests repeat in a header: the path of each by the name of the header. */
  readonly headers: ReadonlyMap<string, readonly string[]>
  /** Types of the arguments that are one text, number or boolean. */
  readonly types: ReadonlyMap<string, string>
}

const FORM_TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean'])

const MAX_AGE_MS = 60_000
const MOST_PAGES = 100

/** The tools of a server as it described them last to one caller. */
export class KnownTools {
  readonly #elapsedMs: () => number
  #known: { readonly at: number; readonly tools: ReadonlyMap<string, KnownTool> } | undefined
  #loading: Promise<ReadonlyMap<string, KnownTool> | undefined> | undefined

  constructor(elapsedMs: () => number = () => performance.now()) {
    this.#elapsedMs = elapsedMs
  }

  /** The server changed its list. */
  clear(): void {
    this.#known = undefined
    this.#loading = undefined
  }

  /**
   * Returns a tool; undefined when the server does not list it. Lists again after a minute. Throws
   * {@link ListUnavailableError} when the server gives no list; the next call asks again.
   */
  async find(tool: string, ask: AskServer, meta: JsonValue | undefined): Promise<KnownTool | undefined> {
    if (this.#known !== undefined && this.#elapsedMs() - this.#known.at < MAX_AGE_MS) return this.#known.tools.get(tool)
    const loading = (this.#loading ??= listTools(ask, meta))
    const tools = await loading.catch(() => undefined)
    if (tools === undefined) {
      if (this.#loading === loading) this.#loading = undefined
      throw new ListUnavailableError()
    }
    // A list that ended after a change of the server is not stored.
    if (this.#loading === loading) {
      this.#known = { at: this.#elapsedMs(), tools }
      this.#loading = undefined
    }
    return tools.get(tool)
  }
}

/** The server gave no list of tools, so none can be compared with its pin. */
export class ListUnavailableError extends Error {
  override readonly name = 'ListUnavailableError'
}

async function listTools(
  ask: AskServer,
  meta: JsonValue | undefined,
): Promise<ReadonlyMap<string, KnownTool> | undefined> {
  const tools = await allTools(ask, meta)
  const digests = tools === undefined ? undefined : digestsOf(tools)
  if (tools === undefined || digests === undefined) return undefined
  // The digests are in the order of the tools.
  return new Map(
    [...digests].map(([name, digest], at) => {
      const schema = member(tools[at] ?? {}, 'inputSchema')
      return [name, { digest, headers: new Map(paramHeaders(schema, [])), types: new Map(simpleTypes(schema)) }]
    }),
  )
}

/** Returns the headers that a schema names with `x-mcp-header`, in lower case, each with the path of its argument. */
function paramHeaders(schema: JsonValue | undefined, path: readonly string[]): [string, readonly string[]][] {
  const properties = isJsonObject(schema) ? member(schema, 'properties') : undefined
  if (!isJsonObject(properties)) return []
  return Object.entries(properties).flatMap(([name, property]) => {
    const own = [...path, name]
    const header = isJsonObject(property) ? member(property, 'x-mcp-header') : undefined
    const named: [string, readonly string[]][] =
      typeof header === 'string' ? [[`mcp-param-${header.toLowerCase()}`, own]] : []
    return [...named, ...paramHeaders(property, own)]
  })
}

function simpleTypes(schema: JsonValue | undefined): [string, string][] {
  const properties = isJsonObject(schema) ? member(schema, 'properties') : undefined
  if (!isJsonObject(properties)) return []
  return Object.entries(properties).flatMap(([name, property]) => {
    const type = isJsonObject(property) ? member(property, 'type') : undefined
    return typeof type === 'string' && FORM_TYPES.has(type) ? [[name, type] satisfies [string, string]] : []
  })
}

/** Reads all pages of `tools/list`; undefined when the server does not return a list. */
async function allTools(ask: AskServer, meta: JsonValue | undefined): Promise<readonly JsonObject[] | undefined> {
  const { progressToken: _token, ...own } = isJsonObject(meta) ? meta : {}
  const tools: JsonObject[] = []
  let cursor: JsonValue | undefined
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const result = await ask('tools/list', {
      ...(Object.keys(own).length === 0 ? {} : { _meta: own }),
      ...(cursor === undefined ? {} : { cursor }),
    })
    const listed = result === undefined ? undefined : member(result, 'tools')
    if (!Array.isArray(listed) || !listed.every(isJsonObject)) return undefined
    tools.push(...listed)
    cursor = result === undefined ? undefined : member(result, 'nextCursor')
    if (typeof cursor !== 'string') return tools
  }
  return undefined
}

export const LEGACY_VERSION = '2025-11-25'
export const MODERN_VERSION = '2026-07-28'

const CLIENT = { name: 'chancery-guard', version: '1' } as const

/** The members that every request of the current revision has. */
export const MODERN_META: JsonObject = {
  'io.modelcontextprotocol/protocolVersion': MODERN_VERSION,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': CLIENT,
}

/** One connection to a server. */
export interface Lister {
  readonly ask: AskServer
  /** Sends a notification. */
  readonly notify: (method: string) => Promise<void>
}

/** Lists the tools after the handshake of the earlier revisions; undefined when the server refuses it. */
export async function listLegacy({ ask, notify }: Lister): Promise<readonly JsonObject[] | undefined> {
  const hello = { protocolVersion: LEGACY_VERSION, capabilities: {}, clientInfo: CLIENT }
  if ((await ask('initialize', hello)) === undefined) return undefined
  await notify('notifications/initialized')
  return allTools(ask, undefined)
}

/** Lists the tools in the form of the current revision; undefined when the server does not have it. */
export function listModern({ ask }: Lister): Promise<readonly JsonObject[] | undefined> {
  return allTools(ask, MODERN_META)
}

/** A longer line would be stored in memory before it can be refused. */
export const MAX_LINE_BYTES: number = 16 * 1024 * 1024

/** Yields lines of a stream without their ends. Throws at a line that is too long. */
export async function* readLines(chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  let parts: Buffer[] = []
  let size = 0
  for await (const chunk of chunks) {
    let rest = Buffer.from(chunk as Uint8Array)
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      parts.push(rest.subarray(0, end))
      yield Buffer.concat(parts).toString('utf8').replace(/\r$/, '')
      parts = []
      size = 0
      rest = rest.subarray(end + 1)
    }
    size += rest.length
    if (size > MAX_LINE_BYTES) throw new RangeError('a line is longer than 16 MiB')
    parts.push(rest)
  }
}
