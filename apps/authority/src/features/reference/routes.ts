import { reference } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { apiPage } from './api-page.ts'
import { cliPage } from './cli-page.ts'
import { surfaces } from './surfaces.ts'
import { swagger } from './swagger.ts'

export const referenceRoutes: readonly Binding<Office>[] = [
  bind(reference.swagger, swagger),
  bind(reference.surfaces, surfaces),
  bind(reference.apiPage, apiPage),
  bind(reference.cliPage, cliPage),
]
