import {
  type Connectome,
  type RevokedPage,
  connectome,
  dashboard,
  reference,
  revokedPage,
  wholeConnectome,
} from '@chancery/contract'
import type { Read } from '@chancery/protocol'
import { bytes, json, text } from '../http/read-response.ts'
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

/** `view` is a public summary of the network state. */
export interface DashboardApi extends RouteApi<typeof dashboard> {
  /** Returns the HTML page at the root. */
  home(options?: CallOptions): Promise<string>
  page(options?: CallOptions): Promise<string>
  /** Returns the HTML of the operator page. The operator key stays in that page. */
  operator(options?: CallOptions): Promise<string>
  /** Returns the HTML frame of a page below /operator, for example `nodes`. */
  operatorPage(page: string, options?: CallOptions): Promise<string>
  faviconIco(options?: CallOptions): Promise<Uint8Array>
  faviconSvg(options?: CallOptions): Promise<Uint8Array>
  consoleStyles(options?: CallOptions): Promise<Uint8Array>
  consoleScript(options?: CallOptions): Promise<Uint8Array>
  consoleLogo(options?: CallOptions): Promise<Uint8Array>
  /** A file of the operator console, by its name with digest. */
  consoleFile(file: string, options?: CallOptions): Promise<Uint8Array>
}

export function dashboardApi(connection: Connection): DashboardApi {
  const { call } = connection
  return {
    ...routeApi(dashboard, connection),
    home: (options) => call({ route: dashboard.home, read: text, options }),
    page: (options) => call({ route: dashboard.page, read: text, options }),
    operator: (options) => call({ route: dashboard.operator, read: text, options }),
    operatorPage: (page, options) => call({ route: dashboard.operatorPage, params: { page }, read: text, options }),
    faviconIco: (options) => call({ route: dashboard.faviconIco, read: bytes, options }),
    faviconSvg: (options) => call({ route: dashboard.faviconSvg, read: bytes, options }),
    consoleStyles: (options) => call({ route: dashboard.consoleStyles, read: bytes, options }),
    consoleScript: (options) => call({ route: dashboard.consoleScript, read: bytes, options }),
    consoleLogo: (options) => call({ route: dashboard.consoleLogo, read: bytes, options }),
    consoleFile: (file, options) => call({ route: dashboard.consoleFile, params: { file }, read: bytes, options }),
  }
}

/** `swagger` is the OpenAPI 3.0.3 document. */
export interface ReferenceApi extends RouteApi<typeof reference> {
  /** The reference of routes as a page. */
  apiPage(options?: CallOptions): Promise<string>
  cliPage(options?: CallOptions): Promise<string>
}

export function referenceApi(connection: Connection): ReferenceApi {
  const { call } = connection
  return {
    ...routeApi(reference, connection),
    apiPage: (options) => call({ route: reference.apiPage, read: text, options }),
    cliPage: (options) => call({ route: reference.cliPage, read: text, options }),
  }
}
