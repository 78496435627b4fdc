import { writeFile } from 'node:fs/promises'
import { writeJson } from '@chancery/protocol'
import { testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

let network: RealNetwork
beforeAll(async () => {
  network = await openNetwork({}, 'OWN-NET')
  const { publicKey } = await testSigner('partner')
  const policy = {
    local_sovereign_id: 'OWN-NET',
    recognized_issuers: [
      {
        sovereign_id: 'PARTNER-NET',
        public_keys: [publicKey],
        allowed_roles: ['role:client'],
        accepted_statuses: ['active'],
      },
    ],
    revoked_attestation_ids: ['a-1'],
  }
  await writeFile(network.setup.path('accept.json'), writeJson(policy))
  await writeFile(network.setup.path('broken.json'), '{"nothing":1}')
})
afterAll(() => network.close())

describe('recognition-policy', () => {
  it('is not there until one is published', async () => {
    const ran = await network.asOperator('policy show recognition --json')
    expect([ran.code, ran.errorJson()]).toMatchObject([1, { error: { code: 'recognition_policy_not_configured' } }])
  })

  it('does not publish without a yes, nor a file that is no policy', async () => {
    expect((await network.asOperator('policy publish accept.json')).code).not.toBe(0)
    const broken = await network.asOperator('policy publish broken.json --yes')
    expect([broken.code, broken.stderr]).toEqual([1, expect.stringContaining('broken.json')])
  })

  it('is published, and shows what it accepts', async () => {
    const line = 'policy publish accept.json --policy-id accept-1 --yes'
    const ran = await network.asOperator(`${line} --quiet`)
    expect([ran.stdout, ran.stderr]).toEqual(['accept-1\n', ''])
    const shown = await network.asOperator('policy show recognition')
    expect(shown.stdout).toMatch(/PARTNER-NET +1 key +role:client +active/)
    expect(shown.stdout).toContain('1 attestation revoked by this policy.')
  })
})
