import { dashboard } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { view } from './view.ts'

export const dashboardRoutes: readonly Binding<Office>[] = [bind(dashboard.view, view)]
