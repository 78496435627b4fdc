import { isJsonObject, member } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import { digestsOf } from './pins.ts'

/** Sends a request of the guard itself and returns the result; undefined for an error or a lost response. */
export type AskServer = (method: string, params: JsonObject) => Promise<JsonObject | undefined>

const MAX_AGE_MS = 60_000
const MOST_PAGES = 100

/** The tools of a server as it described them last to one caller. */
export class KnownTools {
  readonly #elapsedMs: () => number
  #known: { readonly at: number; readonly digests: ReadonlyMap<string, string> } | undefined
  #loading: Promise<ReadonlyMap<string, string> | undefined> | undefined

  constructor(elapsedMs: () => number = () => performance.now()) {
    this.#elapsedMs = elapsedMs
  }

  /** The server changed its list. */
  clear(): void {
    this.#known = undefined
    this.#loading = undefined
  }

  /**
   * Returns the digest of a tool; undefined when the server does not list it. Lists again after a minute. Throws
   * {@link ListUnavailableError} when the server gives no list; the next call asks again.
   */
  async digestOf(tool: string, ask: AskServer, meta: JsonValue | undefined): Promise<string | undefined> {
    if (this.#known !== undefined && this.#elapsedMs() - this.#known.at < MAX_AGE_MS)
      return this.#known.digests.get(tool)
    const loading = (this.#loading ??= listTools(ask, meta))
    const digests = await loading.catch(() => undefined)
    if (digests === undefined) {
      if (this.#loading === loading) this.#loading = undefined
      throw new ListUnavailableError()
    }
    // A list that ended after a change of the server is not stored.
    if (this.#loading === loading) {
      this.#known = { at: this.#elapsedMs(), digests }
      this.#loading = undefined
    }
    return digests.get(tool)
  }
}

/** The server gave no list of tools, so none can be compared with its pin. */
export class ListUnavailableError extends Error {
  override readonly name = 'ListUnavailableError'
}

async function listTools(
  ask: AskServer,
  meta: JsonValue | undefined,
): Promise<ReadonlyMap<string, string> | undefined> {
  const tools = await allTools(ask, meta)
  return tools === undefined ? undefined : digestsOf(tools)
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
