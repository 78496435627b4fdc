import { reference } from '@chancery/contract'
import { text } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'

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
