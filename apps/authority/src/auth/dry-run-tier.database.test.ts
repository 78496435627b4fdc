import type { JsonObject, JsonValue } from '@chancery/protocol'
import { accepted, eventsOf, foreignSovereign, refused, seedCertificates, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let na: TestAuthority
let cert_id: string
let paths: Readonly<Record<string, string>>
beforeAll(async () => {
  na = await startTestAuthority()
  const post = na.as('privileged')
  const member = { subject_id: 'vendor', roles: ['role:client'] }
  const { attestation_id } = accepted(await post('POST', '/admin/attestations', member), 201)
  const partner = {
    subject_sovereign_id: 'PARTNER-NET',
    subject_public_keys: [foreignSovereign('PARTNER-NET').publicKey],
  }
  const { treaty_id } = accepted(await post('POST', '/admin/recognition-treaties', partner), 201)
  const rule = { rule_id: 'ci', kind: 'oidc', issuer: 'https://i.example', jwks_url: 'https://i.example/jwks' }
  accepted(await post('POST', '/admin/admission-rules', { ...rule, required_claims: { sub: ['a'] } }), 201)
  const { publicKey } = foreignSovereign('node')
  const [certificate] = await seedCertificates(na.core, { count: 1, node_public_key: publicKey })
  cert_id = certificate?.cert_id ?? ''
  paths = {
    attestation: `/admin/attestations/${String(attestation_id)}/revoke`,
    treaty: `/admin/recognition-treaties/${String(treaty_id)}/revoke`,
    'operator key': '/admin/operator-keys/op-standard/revoke',
    certificate: '/admin/revoke',
    'admission rule': '/admin/admission-rules/ci/remove',
  }
})
afterAll(() => na.stop())

const bodyOf = (name: string): JsonObject => (name === 'certificate' ? { cert_ids: [cert_id] } : {})
const NAMES = ['attestation', 'treaty', 'operator key', 'certificate', 'admission rule']

describe('a dry run of a withdrawing route', () => {
  it.each(NAMES)('is open to the standard tier with the same answer: %s', async (name) => {
    const body = { ...bodyOf(name), dry_run: true }
    const [standard, privileged] = [
      await na.as('standard')('POST', paths[name] ?? '', body),
      await na.as('privileged')('POST', paths[name] ?? '', body),
    ]
    expect([standard.status, standard.json]).toEqual([privileged.status, privileged.json])
    expect(accepted(standard)).toMatchObject({ dry_run: true })
    expect(await eventsOf(na, standard)).toEqual([])
  })

  it.each(NAMES.flatMap((name) => [false, 'true', 1, null, {}, undefined].map((value) => [name, value] as const)))(
    'needs the privileged tier for %s with dry_run %j',
    async (name, value) => {
      const body = { ...bodyOf(name), ...(value === undefined ? {} : { dry_run: value as JsonValue }) }
      refused(await na.as('standard')('POST', paths[name] ?? '', body), 403, 'insufficient_operator_tier')
    },
  )

  it.each(NAMES)('needs a signature: %s', async (name) => {
    const answer = await na.request('POST', paths[name] ?? '', { body: { ...bodyOf(name), dry_run: true } })
    refused(answer, 401, 'admin_auth_failed')
  })

  it('changes nothing', async () => {
    const rows = await na.core.database.read.selectFrom('recognition_treaties').select('status').execute()
    const keys = await na.core.database.read.selectFrom('revoked_operator_keys').select('key_id').execute()
    expect([rows, keys]).toEqual([[{ status: 'active' }], []])
  })

  it('of other privileged routes stays privileged', async () => {
    const body = { policy: {}, dry_run: true }
    refused(await na.as('standard')('POST', '/admin/policy', body), 403, 'insufficient_operator_tier')
  })
})
