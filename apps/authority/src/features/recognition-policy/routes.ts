import { recognitionPolicy } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { current } from './current.ts'
import { publish } from './publish.ts'

export const recognitionPolicyRoutes: readonly Binding<Office>[] = [
  bind(recognitionPolicy.current, current),
  bind(recognitionPolicy.publish, publish),
]
