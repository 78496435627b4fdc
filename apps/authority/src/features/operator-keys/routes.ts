import { operatorKeys } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { activity } from './activity.ts'
import { revoke } from './revoke.ts'

export const operatorKeyRoutes: readonly Binding<Office>[] = [
  bind(operatorKeys.revoke, revoke),
  bind(operatorKeys.activity, activity),
]
