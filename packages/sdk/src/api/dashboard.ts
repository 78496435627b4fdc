import { dashboard } from '@chancery/contract'
import { bytes, text } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'

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
