import { type Connectome, type RevokedPage, connectome, revokedPage, wholeConnectome } from '@chancery/contract'
import type { Read } from '@chancery/protocol'
import { json, text } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'
import type { Query } from '../http/url.ts'

/**
 * Views of stored treaties and imported revocations; none of them is a source of trust. `trustPath` gives the treaties
 * between two networks. It makes no treaty transitive.
 */
export interface ConnectomeApi extends Omit<RouteApi<typeof connectome>, 'summary'> {
  /** At most 10,000 rows of revoked material; `next_cursor` shows whether there are more. */
  summary(options?: CallOptions): Promise<Connectome>
  /** Revoked material page by page. */
  revoked(query?: { readonly limit?: number; readonly cursor?: string }, options?: CallOptions): Promise<RevokedPage>
  page(options?: CallOptions): Promise<string>
  atlasPage(options?: CallOptions): Promise<string>
}

export function connectomeApi(connection: Connection): ConnectomeApi {
  const { call } = connection
  const read = <Page>(form: Read<Page>, query: Query, options: CallOptions | undefined): Promise<Page> =>
    call({ route: connectome.summary, query, read: json((value) => form(value, '')), options })
  return {
    ...routeApi(connectome, connection),
    summary: (options) => read(wholeConnectome, {}, options),
    revoked: (query = {}, options) => read(revokedPage, { view: 'revoked', ...query }, options),
    page: (options) => call({ route: connectome.page, read: text, options }),
    atlasPage: (options) => call({ route: connectome.atlasPage, read: text, options }),
  }
}
