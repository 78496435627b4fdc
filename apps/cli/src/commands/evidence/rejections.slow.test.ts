import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

let network = undefined as unknown as RealNetwork
beforeAll(async () => {
  network = await openNetwork({ EVIDENCE_STORE: 'on' })
})
afterAll(() => network.close())

it('lists refused evidence with its code and claimed names', async () => {
  expect((await network.asOperator('evidence list --kind rejection')).stdout).toContain('No record was refused.')
  const refused = { evidence_id: 'claimed', resource_id: 'kv/other' }
  await network.na.request('POST', '/evidence/execution', { body: { evidence: refused } })
  const listed = await network.asOperator('evidence list --kind rejection')
  expect(listed.stdout).toMatch(/evidence_malformed +1 .*kv\/other/)
})
