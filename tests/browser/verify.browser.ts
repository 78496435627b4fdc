import { checkVerifyVectors } from '../../packages/sdk/src/verify/vectors.suite.ts'
import { type PageTest, equal } from './page-test.ts'

export const tests: readonly PageTest[] = [
  {
    name: 'every verify vector of the library holds',
    run: async () => {
      const { passed, failures } = await checkVerifyVectors()
      equal(failures, [])
      equal(passed, 147)
    },
  },
]
