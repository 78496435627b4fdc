import { reference } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { ReferenceParts } from './parts.ts'
import { apiPage } from './api-page.ts'
import { cliPage } from './cli-page.ts'
import { surfaces } from './surfaces.ts'
import { swagger } from './swagger.ts'

export function referenceRoutes(parts: ReferenceParts): readonly Binding<unknown>[] {
  return [
    bind(reference.swagger, (call) => swagger(call, parts)),
    bind(reference.surfaces, (call) => surfaces(call, parts)),
    bind(reference.apiPage, (call) => apiPage(call, parts)),
    bind(reference.cliPage, (call) => cliPage(call, parts)),
  ]
}
