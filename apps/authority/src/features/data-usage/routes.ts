import { dataUsage } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { current } from './current.ts'
import { intent } from './intent.ts'
import { publish } from './publish.ts'
import { verify } from './verify.ts'

export const dataUsageRoutes: readonly Binding<Office>[] = [
  bind(dataUsage.publish, publish),
  bind(dataUsage.intent, intent),
  bind(dataUsage.current, current),
  bind(dataUsage.verify, verify),
]
