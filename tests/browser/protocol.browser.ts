import * as protocol from '@chancery/protocol'
import { EXAMPLES } from '../../packages/protocol/src/offline/examples.suite.ts'
import { checkCoreVectors } from '../../packages/protocol/src/vectors/check-vectors.ts'
import { checkEvidenceVectors } from '../../packages/protocol/src/vectors/check-evidence-vectors.ts'
import { checkTrustVectors } from '../../packages/protocol/src/vectors/check-trust-vectors.ts'
import core from '../../packages/protocol/src/vectors/core.json' with { type: 'json' }
import evidence from '../../packages/protocol/src/vectors/evidence.json' with { type: 'json' }
import trust from '../../packages/protocol/src/vectors/trust.json' with { type: 'json' }
import { checkWeakKeys } from '../../packages/protocol/src/vectors/weak-keys.ts'
import { type PageTest, equal } from './page-test.ts'

export const tests: readonly PageTest[] = [
  {
    name: 'every golden vector of protocol/core holds',
    run: async () => {
      const { passed, failures } = await checkCoreVectors(core, protocol)
      equal(failures, [])
      equal(passed, 333)
    },
  },
  {
    name: 'every worked example of protocol/trust-operations holds',
    run: async () => {
      const { passed, failures } = await checkTrustVectors(trust, protocol)
      equal(failures, [])
      equal(passed, 104)
    },
  },
  {
    name: 'every worked example of the evidence store holds',
    run: async () => {
      const { passed, failures } = await checkEvidenceVectors(evidence, protocol)
      equal(failures, [])
      equal(passed, 54)
    },
  },
  {
    name: 'a record of every kind is recognised and holds offline',
    run: async () => {
      const failing: string[] = []
      for (const { kind, record, trust: inputs } of EXAMPLES) {
        const verdict = await protocol.verifyRecordOfKind(kind, record, inputs)
        if (protocol.detectRecordKind(record) !== kind || !verdict.ok) failing.push(kind)
      }
      equal(failing, [])
      equal(EXAMPLES.length, 27)
    },
  },
  {
    name: 'none of 12544 forgeries under weak keys is accepted',
    run: async () => {
      const verify = protocol.verifySignature
      equal(await checkWeakKeys((key, message, signature) => verify(key, message, signature)), {
        cases: 12_544,
        accepted: 0,
      })
    },
  },
]
