import { decisionPage, evidence, newestPage, oldestPage } from '@chancery/contract'
import type { DecisionGroupPage, EvidenceFilter, EvidencePage, NewestFilter, NewestPage } from '@chancery/contract'
import { FormError, type Read, fromUtf8, readEventLine } from '@chancery/protocol'
import { ResponseError } from '../errors.ts'
import { bytes, json, text } from '../http/read-response.ts'
import type { Incoming } from '../http/transport.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'
import type { Query } from '../http/url.ts'

/** Most entries of one page (protocol/trust-operations 6.7). */
export const MAX_PAGE = 1000

/** A page of an export, byte for byte as stored: each line ends with a line feed. */
export interface ExportedPage {
  readonly bytes: Uint8Array
  readonly entries: number
  readonly last_sequence: number
}

/** Given with an export. */
export interface ExportOptions extends CallOptions {
  /** Pages are compressed on their way. They are the same bytes after that. Default: false. */
  readonly compressed?: boolean
}

/**
 * As operator; `execution` is signed by a registered executor key instead, and may be repeated: the same record is then
 * a duplicate. Dry runs of `retention` need a key of the standard tier only. `bundle` gives a stored decision in a DSSE
 * envelope that the authority signs for this call; see `verifyBundle`.
 */
export interface EvidenceApi extends RouteApi<typeof evidence> {
  /** Returns one page of entries in store order. */
  search(filter?: EvidenceFilter, options?: CallOptions): Promise<EvidencePage>
  /** Returns one page of entries, newest first. */
  newest(filter?: NewestFilter, options?: CallOptions): Promise<NewestPage>
  /** Returns one page of decisions, newest first, each with the entries about it. */
  decisions(
    filter?: Omit<NewestFilter, 'entry_kind' | 'resource_id'>,
    options?: CallOptions,
  ): Promise<DecisionGroupPage>
  /** Returns at most 1000 entries after a sequence, byte for byte as stored. */
  lines(sinceSequence: number, limit?: number, options?: CallOptions): Promise<readonly string[]>
  /** Returns every page after a sequence as bytes, with two pages in flight. Use it to copy an export. */
  pages(sinceSequence?: number, options?: ExportOptions): AsyncGenerator<ExportedPage, void, undefined>
  /** Returns every line after a sequence, with two pages in flight. */
  export(sinceSequence?: number, options?: CallOptions): AsyncGenerator<string, void, undefined>
}

export function evidenceApi(connection: Connection): EvidenceApi {
  const { call } = connection
  const find = <Page>(form: Read<Page>, query: Query, options: CallOptions | undefined): Promise<Page> =>
    call({ route: evidence.search, query, read: json((value) => form(value, '')), options })
  return {
    ...routeApi(evidence, connection),
    search: (filter = {}, options) => find(oldestPage, filter, options),
    newest: (filter = {}, options) => find(newestPage, { ...filter, order: 'newest' }, options),
    decisions: (filter = {}, options) => find(decisionPage, { ...filter, order: 'newest', group: 'decision' }, options),
    lines: (since, limit = MAX_PAGE, options) =>
      call({
        route: evidence.export,
        query: { since_sequence: since, limit },
        read: (incoming) => text(incoming).split('\n').slice(0, -1),
        options,
      }),
    pages: (since = 0, options) => exportPages(connection, since, options),
    async *export(since = 0, options) {
      for await (const page of exportPages(connection, since, options)) yield* linesOf(page)
    },
  }
}

const LINE_FEED = 10

/**
 * Every page after a sequence, in order. Two pages are asked for ahead of the caller: sequences have no gaps, so the
 * page after the next one is known before the next one is here. No more are in memory, however slow the caller is.
 */
export async function* exportPages(
  { call }: Connection,
  since: number,
  options: ExportOptions | undefined,
): AsyncGenerator<ExportedPage, void, undefined> {
  let takesGzip = options?.compressed === true
  const fetchPage = async (after: number): Promise<ExportedPage | undefined> => {
    const query = { since_sequence: after, limit: MAX_PAGE }
    const asked = { route: evidence.export, query, read: (incoming: Incoming) => readPage(bytes(incoming)), options }
    if (!takesGzip) return call(asked)
    try {
      return await call({ ...asked, takesGzip })
    } catch (error) {
      if (!(error instanceof ResponseError)) throw error
      // A proxy compresses without giving the length. The request is signed again and asks for no compression.
      takesGzip = false
      return call(asked)
    }
  }
  const ask = (after: number): Promise<ExportedPage | undefined> => {
    const page = fetchPage(after)
    // A failure is thrown where the page is awaited; a page that is not needed may fail.
    page.catch(() => undefined)
    return page
  }
  let next = ask(since)
  let ahead: { readonly after: number; readonly page: Promise<ExportedPage | undefined> } | undefined
  for (let after = since; ;) {
    const page = await next
    if (page === undefined) return
    // A page that does not move forward would cause an endless loop.
    if (page.last_sequence <= after) throw new FormError('entry', 'the page does not follow the last one')
    after = page.last_sequence
    if (page.entries < MAX_PAGE) return yield page
    next = ahead?.after === after ? ahead.page : ask(after)
    ahead = { after: after + MAX_PAGE, page: ask(after + MAX_PAGE) }
    yield page
  }
}

/** The text of each line, without its line feed. */
export function linesOf(page: ExportedPage): string[] {
  const lines = fromUtf8(page.bytes)
  if (lines === undefined) throw new FormError('entry', 'the page is not UTF-8')
  return lines.split('\n').slice(0, -1)
}

/** Only the last line is read, for its sequence; undefined for an empty page. */
function readPage(body: Uint8Array): ExportedPage | undefined {
  if (body.length === 0) return undefined
  let [entries, start, end] = [0, 0, 0]
  for (let at = body.indexOf(LINE_FEED); at >= 0; at = body.indexOf(LINE_FEED, at + 1)) {
    entries += 1
    ;[start, end] = [end, at + 1]
  }
  if (end !== body.length) throw new FormError('entry', 'the page does not end with a line feed')
  const event = readEventLine(fromUtf8(body.subarray(start, end - 1)) ?? '')
  if (event === undefined) throw new FormError('entry', 'the last line of a page cannot be read')
  return { bytes: body, entries, last_sequence: event.entry.store_sequence }
}
