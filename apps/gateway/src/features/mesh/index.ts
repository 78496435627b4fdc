import { GATEWAY_ROUTES } from '@chancery/contract'
import type { Core, Feature } from '../../core.ts'
import { MeshView } from './mesh-view.ts'
import { mesh } from './mesh.ts'

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
