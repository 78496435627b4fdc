import { reference } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { apiPage } from './api-page.ts'
import { cliPage } from './cli-page.ts'
import type { ReferenceParts } from './parts.ts'
import { surfaces } from './surfaces.ts'
import { Swagger } from './swagger.ts'

export function openReference(parts: ReferenceParts): Feature {
  const swagger = new Swagger(parts)
  return {
    routes: [
      bind(reference.swagger, (call) => swagger.serve(call)),
      bind(reference.surfaces, (call) => surfaces(call, parts)),
      bind(reference.apiPage, (call) => apiPage(call, parts)),
      bind(reference.cliPage, (call) => cliPage(call, parts)),
    ],
    jobs: [],
    close: () => Promise.resolve(),
  }
}
