import { AUTHORITY_SERVICE_ROUTE, type GatewayOperation, type RouteTable, findOperation } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { CallRoute } from '../http/call.ts'
import { RequestError } from '../errors.ts'

type OperationOf<Facts> = Facts extends { readonly gateway: { readonly operation: infer Id extends string } }
  ? Id
  : never

/** Every operation the gateway forwards, by name; taken from the contract, so a removed one does not compile. */
export type OperationId = {
  [Feature in keyof RouteTable]: OperationOf<RouteTable[Feature][keyof RouteTable[Feature]]>
}[keyof RouteTable]

/** Parameters of path and query alike, and the body of an operation that takes one. */
export interface ForwardedCall {
  readonly parameters?: Readonly<Record<string, string>>
  readonly body?: JsonObject
}

/** An operation that any caller with a credential may use. */
export function openOperation(id: string): GatewayOperation {
  const operation = findOperation(id)
  if (operation === undefined) throw new RequestError('this release knows no such operation')
  if (operation.admin) throw new RequestError(`${id} is signed by an operator: asAuthority(network, { operator })`)
  return operation
}

/** Target of the operation at a gateway. */
export function operationRoute({ id, method }: GatewayOperation): CallRoute {
  const path = AUTHORITY_SERVICE_ROUTE.replace('{operation}', id)
  return { id: `${method} /${id}`, method, path, params: ['network'], access: 'public', response: 'json' }
}
