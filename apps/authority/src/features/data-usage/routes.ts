import { dataUsage } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { DataUsageParts } from './parts.ts'
import { current } from './current.ts'
import { intent } from './intent.ts'
import { publish } from './publish.ts'
import { verify } from './verify.ts'

export function dataUsageRoutes(parts: DataUsageParts): readonly Binding<unknown>[] {
  return [
    bind(dataUsage.publish, (call) => publish(call, parts)),
    bind(dataUsage.intent, (call) => intent(call, parts)),
    bind(dataUsage.current, (call) => current(call, parts)),
    bind(dataUsage.verify, (call) => verify(call, parts)),
  ]
}
