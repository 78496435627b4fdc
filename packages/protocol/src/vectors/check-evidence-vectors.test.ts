import { expect, it } from 'vitest'
import * as protocol from '../index.ts'
import { checkEvidenceVectors } from './check-evidence-vectors.ts'
import evidence from './evidence.json' with { type: 'json' }

it('every worked example of the evidence store holds', async () => {
  const { passed, failures } = await checkEvidenceVectors(evidence, protocol)
  expect(failures).toEqual([])
  expect(passed).toBe(54)
})
