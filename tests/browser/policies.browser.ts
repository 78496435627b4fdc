import * as protocol from '@chancery/protocol'
import { checkCedarVectors } from '../../packages/protocol/src/vectors/check-cedar-vectors.ts'
import { checkPolicyVectors } from '../../packages/protocol/src/vectors/check-policy-vectors.ts'
import cedar from '../../packages/protocol/src/vectors/cedar.json' with { type: 'json' }
import vectors from '../../packages/protocol/src/vectors/policies.json' with { type: 'json' }
import { type PageTest, equal } from './page-test.ts'

export const tests: readonly PageTest[] = [
  {
    name: 'every golden vector of boundary policies holds',
    run: async () => {
      const { passed, failures } = await checkPolicyVectors(vectors, protocol)
      equal(failures, [])
      equal(passed, 88)
    },
  },
  {
    name: 'every golden vector of cedar.v1 holds',
    run: async () => {
      const { passed, failures } = checkCedarVectors(cedar, protocol)
      equal(failures, [])
      equal(passed, 75)
    },
  },
]
