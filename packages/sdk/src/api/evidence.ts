import { decisionPage, evidence, newestPage, oldestPage } from '@chancery/contract'
import type { DecisionGroupPage, EvidenceFilter, EvidencePage, NewestFilter, NewestPage } from '@chancery/contract'
import type { Read } from '@chancery/protocol'
import { json, text } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'
import type { Query } from '../http/url.ts'
import { type ExportOptions, type ExportedPage, MAX_PAGE, exportPages, linesOf } from './evidence-export.ts'

/**
 * As operator; `execution` is signed by a registered executor key instead, and may be repeated: the same record is then
 * a duplicate. Dry runs of `retention` need a key of the standard tier only. `bundle` gives a stored decision in a DSSE
 * envelope that the authority signs for this call; see `checkDecisionBundle`.
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
