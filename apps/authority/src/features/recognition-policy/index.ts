import { recognitionPolicy } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { type ReadyPolicy, RecognitionPolicyCache } from './cache.ts'
import { current } from './current.ts'
import type { RecognitionPolicyParts } from './parts.ts'
import { publish } from './publish.ts'

export { prepare } from './cache.ts'
export type { ReadyPolicy } from './cache.ts'

export interface RecognitionPolicy extends Feature {
  /** The accepted issuers of attestations, parsed once per change. */
  current(): Promise<ReadyPolicy | undefined>
}

export function openRecognitionPolicy(parts: RecognitionPolicyParts): RecognitionPolicy {
  const cache = new RecognitionPolicyCache()
  return {
    routes: [
      bind(recognitionPolicy.current, (call) => current(call, parts)),
      bind(recognitionPolicy.publish, (call) => publish(call, parts)),
    ],
    jobs: [],
    current: () => cache.current(parts),
    close: () => Promise.resolve(),
  }
}
