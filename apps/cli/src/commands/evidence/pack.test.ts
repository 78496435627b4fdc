import { readFile, writeFile } from 'node:fs/promises'
import { type JsonObject, asJson, draftAttestation, readJson, signList, writeJson } from '@chancery/protocol'
import type { EvidencePack } from '@chancery/sdk/authority'
import { writePack } from '@chancery/sdk/evidence'
import { sealPack } from '@chancery/sdk/internal'
import { accepted, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

let network: RealNetwork
beforeAll(async () => {
  const settings = { NA_FOREIGN_FEED_MAX_AGE_SECONDS: '0', NA_ANCHOR_INTERVAL_SECONDS: '0' }
  network = await openNetwork({ EVIDENCE_STORE: 'on', ...settings })
})
afterAll(() => network.close())

/** No witness cosigns the log of this network. */
const OPEN = 'witnesses unchecked'

/** `name status` of the checks that did not pass. */
const notPassed = (report: JsonObject): readonly string[] =>
  (report['checks'] as unknown as readonly { name: string; status: string }[])
    .filter(({ status }) => status !== 'passed')
    .map(({ name, status }) => `${name} ${status}`)

it("has the treaty of a decision on a partner's member, whose key verifies the attestation", async () => {
  const beta = await testSigner('na-beta', 'beta')
  const scope = { allowed_roles: ['role:client'], claims: { capabilities: ['ledger.*'] } }
  const treaty = { subject_sovereign_id: 'BETA', subject_public_keys: [beta.publicKey], scope }
  const post = network.na.as('privileged')
  accepted(await post('POST', '/admin/recognition-treaties', treaty), 201)
  const draft = draftAttestation({
    attestation_id: 'beta-1',
    issuer_sovereign_id: 'BETA',
    subject_id: 'agent-7',
    subject_public_key: null,
    roles: ['role:client'],
    claims: { capabilities: ['ledger.read'] },
    issued_by: beta.keyId,
    now: network.clock.now(),
    validityHours: 24,
  })
  const attestation = asJson(await signList(draft, beta))
  const asked = { presented: { attestation, issuer_sovereign_id: 'BETA' }, requested_capability: 'ledger.read' }
  const { decision } = accepted(await post('POST', '/admin/boundary/evaluate', asked), 201)
  const id = (decision as JsonObject)['decision_id'] as string
  await network.na.features.evidenceLog.append()
  await writeFile(network.setup.path('member.json'), writeJson(attestation))
  const report = async (name: string, flags: string): Promise<JsonObject> => {
    const { code, stderr } = await network.asOperator(`evidence pack ${id} --out ${name} ${flags}`)
    expect([code, stderr]).toEqual([0, ''])
    return (await network.run(`verify ${name} --genesis genesis.json --json`)).json()
  }
  const whole = await report('partner.json', '--attestation member.json')
  expect([whole['valid'], notPassed(whole)]).toEqual([true, [OPEN, 'anchor unchecked']])
  expect(JSON.stringify(whole['checks'])).toContain('"name":"treaty","status":"passed"')
  // The authority stored the attestation with the decision.
  const stored = await report('stored.json', '')
  expect([stored['valid'], notPassed(stored)]).toEqual([true, [OPEN, 'anchor unchecked']])
  const other = await testSigner('na-beta', 'another key')
  const forged = asJson(await signList({ ...draft, signatures: [] }, other))
  const pack = readJson(await readFile(network.setup.path('partner.json'), 'utf8')) as JsonObject
  const changed = sealPack({ ...(pack as unknown as EvidencePack), attestation: forged })
  await writeFile(network.setup.path('forged.json'), writePack(changed))
  const { json } = await network.run('verify forged.json --genesis genesis.json --json')
  expect(notPassed(json())).toContain('basis_signature failed')
})

it('names the search for an unknown decision, and writes nothing', async () => {
  const { code, stderr } = await network.asOperator('evidence pack nothing --out none.json')
  expect([code, stderr]).toEqual([1, expect.stringContaining('chancery evidence list')])
  await expect(readFile(network.setup.path('none.json'))).rejects.toThrow('ENOENT')
})
