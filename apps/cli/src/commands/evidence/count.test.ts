import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

let network: RealNetwork
beforeAll(async () => {
  network = await openNetwork({ EVIDENCE_STORE: 'on' })
  const issued = await network.asOperator('attestation issue x --role role:client --capability ledger.read --json')
  const id = String(issued.json()['attestation_id'])
  for (const capability of ['ledger.read', 'ledger.write'])
    await network.asOperator(`ask --as operator ${capability} --attestation ${id}`)
  network.clock.advance(60)
})
afterAll(() => network.close())

describe('evidence list', () => {
  it('counts all decisions together without --split', async () => {
    const ran = await network.asOperator('evidence list')
    expect([ran.code, ran.stderr]).toEqual([0, ''])
    expect(ran.stdout).toMatch(/DECISIONS\n+2\n/)
  })

  it('names the time without decisions', async () => {
    const ran = await network.asOperator('evidence list --since 2029-12-01T00:00:00Z --until 2029-12-02T00:00:00Z')
    expect(ran.stdout).toBe('0 decisions from 2029-12-01T00:00:00Z to 2029-12-02T00:00:00Z.\n')
  })

  it.each(['--split outcome', '--split outcome --split capability', '--by hour --split outcome'])(
    'splits with %s',
    async (flags) => {
      const ran = await network.asOperator(`evidence list ${flags} --json`)
      expect([ran.code, ran.stderr]).toEqual([0, ''])
      expect(ran.json()['counts']).toMatchObject([{ decisions: 1 }, { decisions: 1 }])
    },
  )
})
