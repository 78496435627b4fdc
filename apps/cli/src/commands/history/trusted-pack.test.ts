import { type JsonObject, readInstant, writeInstant } from '@chancery/protocol'
import { accepted } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

/** An evidence pack answers for the time of its decision, and for no other time inside the validity. */

let network: RealNetwork
let id: string
let decided: bigint
beforeAll(async () => {
  network = await openNetwork({ EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' })
  const post = network.na.as('privileged')
  const member = { subject_id: 'agent-1', roles: ['role:client'], claims: { capabilities: ['ledger.read'] } }
  const attestation = accepted(await post('POST', '/admin/attestations', member), 201)
  id = String(attestation['attestation_id'])
  network.clock.advance(60)
  for (const [name, requested_capability] of [
    ['allowed', 'ledger.read'],
    ['denied', 'ledger.write'],
  ] as const) {
    const asked = { attestation_id: id, requested_capability }
    const { decision } = accepted(await post('POST', '/admin/boundary/evaluate', asked), 201)
    await network.na.features.evidenceLog.append()
    const { decision_id, decision_made_at } = decision as JsonObject
    decided = readInstant(String(decision_made_at)) ?? 0n
    const { code, stderr } = await network.asOperator(`evidence pack ${String(decision_id)} --out ${name}.json`)
    if (code !== 0) throw new Error(stderr)
  }
  network.clock.advance(3600)
})
afterAll(() => network.close())

async function stateAt(at: bigint, pack = 'allowed.json', subject = id): Promise<readonly unknown[]> {
  const asked = `record history ${subject} --kind attestation --at ${writeInstant(at)} --genesis genesis.json`
  const run = await network.run(`${asked} --offline ${pack} --json`)
  return [run.code, run.json()['state'], run.json()['reason']]
}

it('proves the time of an allowed decision', async () => {
  expect(await stateAt(decided)).toEqual([0, 'trusted', 'in_force'])
  expect(await stateAt(decided + 1n)).toEqual([2, 'unknown', 'decision_only'])
  expect(await stateAt(decided - 1n)).toEqual([2, 'unknown', 'decision_only'])
  expect(await stateAt(decided - 3600n * 1_000_000n)).toEqual([1, 'not_trusted', 'not_yet_valid'])
})

it('proves nothing about a denied decision, or about another record', async () => {
  expect(await stateAt(decided, 'denied.json')).toEqual([2, 'unknown', 'decision_only'])
  expect(await stateAt(decided, 'allowed.json', 'another')).toEqual([2, 'unknown', 'record_missing'])
})
