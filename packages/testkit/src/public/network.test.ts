import { trustNetworks } from '@chancery/sdk'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RunningTestNetwork, startTestNetwork } from './network.ts'

let [own, partner, namesake] = [] as unknown as [RunningTestNetwork, RunningTestNetwork, RunningTestNetwork]
beforeAll(async () => {
  own = await startTestNetwork({ name: 'OWN-NET' })
  partner = await startTestNetwork({ name: 'PARTNER-NET' })
  namesake = await startTestNetwork({ name: 'OWN-NET' })
})
afterAll(async () => {
  for (const network of [own, partner, namesake]) await network.stop()
})

it('no two networks share a key, also those of one name', () => {
  const keys = [own, partner, namesake].flatMap(({ genesis }) => [
    genesis.root_public_key,
    genesis.network_authority.public_key,
  ])
  expect(new Set(keys).size).toBe(6)
})

it('a treaty that names the key of the wrong network allows no member', async () => {
  const issue = { subject_id: 'g', roles: ['role:client'], claims: { capabilities: ['ledger.read'] } }
  const attestation = await partner.operator.attestations.issue(issue)
  await own.operator.recognitionTreaties.issue({
    subject_sovereign_id: 'PARTNER-NET',
    subject_public_keys: [own.genesis.network_authority.public_key],
    scope: { allowed_roles: ['role:client'], claims: { capabilities: ['ledger.read'] } },
  })
  const presented = { attestation, issuer_sovereign_id: 'PARTNER-NET' }
  const asked = own.operator.boundary.evaluate({ presented, requested_capability: 'ledger.read' })
  const isAllowed = await asked.then(
    ({ decision }) => decision.authorized,
    () => false,
  )
  expect(isAllowed).toBe(false)
})

it('a relying party with the genesis block of another network does not open', async () => {
  const { genesis } = own
  await expect(trustNetworks([{ url: partner.url, genesis, budgetMs: 2000 }])).rejects.toThrow(
    'serves no list that one of its',
  )
})
