import { recognitionPolicy } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { RecognitionPolicyParts } from './parts.ts'
import { current } from './current.ts'
import { publish } from './publish.ts'

export function recognitionPolicyRoutes(parts: RecognitionPolicyParts): readonly Binding<unknown>[] {
  return [
    bind(recognitionPolicy.current, (call) => current(call, parts)),
    bind(recognitionPolicy.publish, (call) => publish(call, parts)),
  ]
}
