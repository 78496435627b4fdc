import * as protocol from '@chancery/protocol'
import { checkPolicyVectors } from '../../packages/protocol/src/vectors/check-policy-vectors.ts'
import vectors from '../../packages/protocol/src/vectors/policies.json' with { type: 'json' }
import { equal } from './page-test.ts'
import type { PageTest } from './page-test.ts'

export const tests: readonly PageTest[] = [
  {
    name: 'every golden vector of boundary policies holds',
    run: async () => {
      const { passed, failures } = await checkPolicyVectors(vectors, protocol)
      equal(failures, [])
      equal(passed, 88)
    },
  },
]
