import type { Core, Feature } from './core.ts'
import { openConsole } from './features/console/index.ts'
import { openDecisions } from './features/decisions/index.ts'
import { openMesh } from './features/mesh/index.ts'
import { openOperations } from './features/operations/index.ts'
import { openProxy } from './features/proxy/index.ts'
import { openVerify } from './features/verify/index.ts'

export interface FeatureOptions {
  readonly hasTls: boolean
}

/** Opens every feature of this release. No feature uses another. */
export function openFeatures(core: Core, { hasTls }: FeatureOptions): readonly Feature[] {
  return [
    openConsole(core),
    openVerify(core),
    openOperations({ ...core, hasTls }),
    openProxy(core),
    openMesh(core),
    openDecisions(core),
  ]
}
