import { dataUsage } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { current } from './current.ts'
import { intent } from './intent.ts'
import type { DataUsageParts } from './parts.ts'
import { publish } from './publish.ts'
import { record } from './record.ts'
import { verify } from './verify.ts'

export function openDataUsage(parts: DataUsageParts): Feature {
  return {
    routes: [
      bind(dataUsage.publish, (call) => publish(call, parts)),
      bind(dataUsage.intent, (call) => intent(call, parts)),
      bind(dataUsage.record, (call) => record(call, parts)),
      bind(dataUsage.current, (call) => current(call, parts)),
      bind(dataUsage.verify, (call) => verify(call, parts)),
    ],
    jobs: [],
    close: () => Promise.resolve(),
  }
}
