import { describe, expect, it } from 'vitest'
import { CallError } from '../../client.ts'
import { validate } from './validation.ts'

const TEXT = '{\n  "policy_id": "p",\n  "gates": []\n}'
const INTENT = { policy_id: 'p', gates: [] }

describe('the check of a draft', () => {
  it('reports a check that could not run as a problem, with its reason', async () => {
    const result = await validate(TEXT, INTENT, () => Promise.reject(new TypeError('an ambiguous number')))
    expect(result.nextVersion).toBeUndefined()
    expect(result.problems).toEqual([{ line: undefined, text: 'The draft could not be checked: an ambiguous number' }])
  })

  it('names the member and the line of each refused member', async () => {
    const details = { errors: [{ field: 'gates', message: 'an array is needed' }] }
    const facts = { message: 'no', status: 400, code: 'invalid_boundary_policy', details }
    const refusal = new CallError({ ...facts, requestId: undefined, retryAfterSeconds: undefined })
    const { problems } = await validate(TEXT, INTENT, () => Promise.reject(refusal))
    expect(problems).toEqual([{ line: 3, field: 'gates', text: 'gates an array is needed' }])
  })

  it('is valid with the answer of the authority only', async () => {
    const answer = { valid: true, issues: [], warnings: [], policy_id: 'p', next_version: 4 }
    const result = await validate(TEXT, INTENT, () => Promise.resolve(answer as never))
    expect([result.nextVersion, result.problems]).toEqual([4, []])
  })
})
