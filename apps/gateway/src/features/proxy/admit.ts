import { type GatewayOperation, GatewayRefusal, findOperation } from '@chancery/contract'
import type { ClientCall } from '../../edge/call.ts'
import type { ClientPolicy, NetworkPolicy } from '../../policy/policy.ts'

export interface AdmittedRequest {
  readonly network: NetworkPolicy
  readonly operation: GatewayOperation
}

/** Runs checks 1 to 5 of protocol/gateway 12.1. The first check does not reveal which networks exist. */
export function admit({ client, params, route, trust, context }: ClientCall): AdmittedRequest {
  const name = decodeName(params['network'] ?? '')
  if (name === undefined || !client.networks.includes(name)) throw new GatewayRefusal('network_scope')
  context.network = name
  const operation = findOperation(params['operation'] ?? '')
  if (operation === undefined) throw new GatewayRefusal('operation_not_found')
  context.operation = operation.id
  if (operation.method !== route.method) {
    throw new GatewayRefusal('operation_method', undefined, { headers: { allow: operation.method } })
  }
  checkScope(client, operation)
  const network = trust?.policy.networks.get(name)
  if (network?.authorityUrl === undefined) throw new GatewayRefusal('authority_not_configured')
  return { network, operation }
}

function checkScope(client: ClientPolicy, operation: GatewayOperation): void {
  const isNamed = client.operations === undefined || client.operations.includes(operation.id)
  if (!client.serviceGroups.includes(operation.group) || !isNamed) throw new GatewayRefusal('service_scope')
  // A public token must not store anything (protocol/gateway 13.4).
  if (client.isDemo && !isHarmless(operation)) throw new GatewayRefusal('service_scope')
  if (operation.admin && !client.authorityAdmin) throw new GatewayRefusal('admin_scope')
}

/** Returns whether the operation changes nothing at the authority. */
export function isHarmless({ id, method }: GatewayOperation): boolean {
  return method === 'GET' || /-(?:verify|prove)(?:-|$)/.test(id)
}

/** Decodes a network name, which may have any letter. Returns undefined for an invalid encoding. */
function decodeName(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
