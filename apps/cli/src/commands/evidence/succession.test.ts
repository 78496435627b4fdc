import { writeFile } from 'node:fs/promises'
import { type JsonObject, type KeyHistory, signList, writeInstant, writeJson } from '@chancery/protocol'
import { ManualClock, type Succeeded, accepted, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SuccessionSetup } from '../../testing/succession.suite.ts'

const clock = new ManualClock('2030-01-02T03:00:00Z')
let setup: SuccessionSetup
let next: Required<Succeeded>
beforeAll(async () => {
  const settings = { NA_CLOCK_CHECK: 'off', EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' }
  setup = await SuccessionSetup.open(clock, settings)
  await decide()
  await succeed('evidence anchor --out anchors')
  next = await setup.announce({ keyId: 'na-2', seed: 'na-2' })
  await setup.switchTo(next)
  clock.advance(60)
  await setup.run(`genesis fetch --genesis genesis.json --url ${setup.url}`)
  await decide()
  await succeed('evidence anchor --out anchors')
  await succeed('evidence export --out evidence.jsonl')
  await writeFile(setup.setup.path('newest.json'), writeJson(next.genesis))
  await writeFile(setup.setup.path('history.json'), writeJson(next.history))
})
afterAll(() => setup.close())

async function decide(): Promise<void> {
  const request = { subject_id: 'vendor-1', roles: ['role:client'], claims: { capabilities: ['secret.rotate'] } }
  const { attestation_id } = accepted(await setup.na.as('privileged')('POST', '/admin/attestations', request), 201)
  const asked = { attestation_id: attestation_id ?? null, requested_capability: 'secret.rotate' }
  accepted(await setup.na.as('standard')('POST', '/admin/boundary/evaluate', asked), 201)
}

async function succeed(line: string): Promise<void> {
  const { code, stderr } = await setup.asOperator(line)
  if (code !== 0) throw new Error(`${line}: ${stderr}`)
}

const verify = async (trust: string): Promise<JsonObject> =>
  (await setup.run(`verify evidence.jsonl --with anchors ${trust} --json`)).json()
const reasons = (report: JsonObject): readonly string[] => [
  ...new Set((report['failures'] as unknown as { reason: string }[]).map(({ reason }) => reason)),
]

describe('verify over a key succession', () => {
  it('verifies entries and anchors of both keys with the newest block and its history', async () => {
    const report = await verify('--genesis newest.json --key-history history.json')
    expect([report['verified'], report['checked_entries']]).toEqual([true, 4])
    expect(report['anchors']).toMatchObject({ anchors_matched: 2 })
  })

  it('verifies with the configured block from before the switch once it was followed', async () => {
    expect((await verify('--home operator'))['verified']).toBe(true)
  })

  it('refuses what the former key signed when no history is given, and names the signatures', async () => {
    const { publicKey } = await testSigner('na-2', 'na-2')
    const current = await verify(`--authority-key ${publicKey} --network TEST-NET`)
    expect(reasons(current)).toEqual(['invalid_signature', 'anchor_invalid_signature'])
  })

  it('refuses what a former key signed outside its time', async () => {
    const { signatures: _signed, former_keys, ...rest } = next.history
    const end = writeInstant(clock.now() - 600_000_000n)
    const draft = { ...rest, former_keys: former_keys.map((key) => ({ ...key, valid_to: end })), signatures: [] }
    const early = (await signList(draft, await testSigner('rs-test', 'root'))) as KeyHistory
    await writeFile(setup.setup.path('early.json'), writeJson(early))
    const report = await verify('--genesis newest.json --key-history early.json')
    expect(reasons(report)).toEqual(['invalid_signature', 'anchor_invalid_signature'])
  })

  it('takes a history only with the block that it belongs to', async () => {
    const line = 'verify evidence.jsonl --genesis genesis.json --key-history history.json --json'
    await writeFile(setup.setup.path('other.json'), writeJson({ ...next.history, network_name: 'OTHER-NET' }))
    const ran = await setup.run(line.replace('history.json', 'other.json'))
    expect([ran.code, ran.errorJson()]).toMatchObject([1, { error: { code: 'other_network' } }])
  })
})

describe('evidence witness over a key succession', () => {
  it('accepts the checkpoint of the new key as a continuation', async () => {
    await setup.na.features.evidenceLog.append()
    await succeed('evidence witness --state witness.json')
    await decide()
    await setup.na.features.evidenceLog.append()
    await succeed('evidence witness --state witness.json')
  })
})
