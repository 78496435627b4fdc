import { GATEWAY_ROUTES, GatewayRefusal } from '@chancery/contract'
import type { Core, Feature } from '../../core.ts'
import { MeshView } from './mesh-view.ts'
import { type HttpResponse, jsonText } from '@chancery/service-kit'
import type { GatewayCall } from '../../edge/call.ts'

/**
 * GET /v1/mesh
 * Returns the networks that the operator publishes, as their authorities signed them. The route is public, so the
 * number of reads per 20 s does not depend on the number of callers. With `network` it returns all published members of
 * one network, page by page.
 */
async function mesh({ trust, query }: GatewayCall, view: MeshView): Promise<HttpResponse> {
  const parameters = new URLSearchParams(query)
  const network = parameters.get('network')
  if (network === null) return jsonText(await view.read(trust))
  const members = await view.readMembers(trust, network, parameters.get('cursor') ?? undefined)
  if (members === undefined) throw new GatewayRefusal('parameter_invalid')
  return jsonText(members)
}

export type MeshParts = Pick<Core, 'authorities' | 'clock'>

/** Opens the public view of the networks that the operator publishes. */
export function openMesh({ authorities, clock }: MeshParts): Feature {
  const view = new MeshView(authorities, clock)
  return {
    routes: [{ route: GATEWAY_ROUTES.mesh, open: (call) => mesh(call, view) }],
    jobs: [],
    close: () => view.close(),
  }
}
