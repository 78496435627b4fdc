import type { Core, Feature } from './core.ts'
import type { TlsMaterial } from './policy/tls-files.ts'
import { openCheck } from './features/check/index.ts'
import { openConsole } from './features/console/index.ts'
import { openDecisions } from './features/decisions/index.ts'
import { openMesh } from './features/mesh/index.ts'
import { openOperations } from './features/operations/index.ts'
import { openProxy } from './features/proxy/index.ts'
import { openVerify } from './features/verify/index.ts'

export interface FeatureOptions {
  readonly tls: TlsMaterial | undefined
}

/** Opens every feature of this release. */
export function openFeatures(core: Core, { tls }: FeatureOptions): readonly Feature[] {
  return [
    openConsole(),
    openVerify(core),
    openOperations({ ...core, hasTls: tls !== undefined }),
    openProxy(core),
    openMesh(core),
    openDecisions(core),
    openCheck(core, tls),
  ]
}
