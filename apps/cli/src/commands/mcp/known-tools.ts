import { type JsonObject, type JsonValue, isJsonObject, member } from '@chancery/protocol'
import { digestsOf } from './pins.ts'

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
export async function allTools(
  ask: AskServer,
  meta: JsonValue | undefined,
): Promise<readonly JsonObject[] | undefined> {
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
