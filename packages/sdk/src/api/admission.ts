import { type AddedRule, type AdmissionRequest, admission } from '@chancery/contract'
import type { CallOptions, Connection } from '../http/call.ts'
import { json, omitUndefined } from '../http/read-response.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'

/** As operator. */
export interface AdmissionApi extends RouteApi<typeof admission> {
  /** The same rule again gives the stored one. */
  add(request: AdmissionRequest, options?: CallOptions): Promise<AddedRule>
}

export function admissionApi(connection: Connection): AdmissionApi {
  const { add } = admission
  return {
    ...routeApi(admission, connection),
    add: (request, options) =>
      connection.call({
        route: add,
        body: omitUndefined({ ...request }),
        repeatable: true,
        read: json((value) => add.answer(value, '')),
        options,
      }),
  }
}
