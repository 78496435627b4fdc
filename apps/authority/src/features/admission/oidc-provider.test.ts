import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { joinAudience } from '@chancery/protocol'
import { TestCa, accepted, newNodeCaller, refused, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority, TestResponse } from '@chancery/testkit'
import { systemClock } from '@chancery/service-kit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type OidcProvider, startOidcProvider } from './oidc-provider.suite.ts'

const ca = new TestCa()
const folder = mkdtempSync(join(tmpdir(), 'chancery-provider-'))
let provider: OidcProvider
let na: TestAuthority

beforeAll(async () => {
  provider = await startOidcProvider(ca)
  const { issuer } = provider
  writeFileSync(join(folder, 'roots.pem'), ca.cert)
  const settings = { NA_ADMISSION_ADDRESSES: 'loopback', NA_ADMISSION_CA_FILE: join(folder, 'roots.pem') }
  na = await startTestAuthority({ settings })
  const rule = { rule_id: 'provider', kind: 'oidc', issuer, jwks_url: `${issuer}/jwks` }
  const required_claims = { sub: ['workload'], client_id: ['workload'] }
  accepted(await na.as('privileged')('POST', '/admin/admission-rules', { ...rule, required_claims }), 201)
})
afterAll(async () => {
  await na.stop()
  await provider.stop()
  ca.remove()
  rmSync(folder, { recursive: true, force: true })
})

const authorityKey = (): string => na.genesis.network_authority.public_key

async function joinAs(client: string, audienceOf: (key: string) => string): Promise<TestResponse> {
  const node = await newNodeCaller(na.url, 'provider', systemClock)
  const token = await provider.mint(client, audienceOf(node.key))
  return node.post('/join', { evidence: { rule_id: 'provider', token } })
}

it('admits a token of a real provider with the bound audience', async () => {
  accepted(await joinAs('workload', (key) => joinAudience(authorityKey(), key)), 201)
})

it.each([
  ['another client of the provider', 'stranger', 'claims_mismatch', (key: string) => joinAudience(authorityKey(), key)],
  ['the plain audience', 'workload', 'audience_mismatch', () => joinAudience(authorityKey())],
  ['another service', 'workload', 'audience_mismatch', () => 'https://service.example/'],
])('refuses a token of %s', async (_what, client, reason, audienceOf) => {
  const details = refused(await joinAs(client, audienceOf), 403, 'evidence_refused')['details']
  expect(details).toEqual({ reason })
})
