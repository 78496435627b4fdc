import { readFile, truncate, writeFile } from 'node:fs/promises'
import { canonicalJson, readEventLine, readNote, writeNote, writeWitnessKey } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import type { EvidencePack } from '@chancery/sdk/authority'
import { verifyPack, explainPack, readPack, writePack, type EvidencePackReport } from '@chancery/sdk/evidence'
import { EvidencePackError, MAX_PACK_LENGTH, sealPack } from '@chancery/sdk/internal'
import { accepted, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

// Holds: malformed packs end in a report or a refusal, at a bounded cost.

let network: RealNetwork
/** The pack of a decision on an attestation, which is in the log. */
let pack: EvidencePack
beforeAll(async () => {
  network = await openNetwork({ EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' })
  const member = { subject_id: 'vendor-1', roles: ['role:client'], claims: { capabilities: ['secret.rotate'] } }
  const { attestation_id } = accepted(await network.na.as('privileged')('POST', '/admin/attestations', member), 201)
  const line = `ask --as operator secret.rotate --attestation ${String(attestation_id)} --quiet`
  const id = (await network.asOperator(line)).stdout.trim()
  await network.na.features.evidenceLog.append()
  const { code, stderr } = await network.asOperator(`evidence pack ${id} --out pack.json`)
  if (code !== 0) throw new Error(stderr)
  pack = readPack(await readFile(network.setup.path('pack.json'), 'utf8'))
})
afterAll(() => network.close())

const reread = (changed: Partial<EvidencePack>): EvidencePack => readPack(writePack(sealPack({ ...pack, ...changed })))

const check = (changed: Partial<EvidencePack>): Promise<EvidencePackReport> =>
  verifyPack(reread(changed), { genesis: network.genesis })

const detailOf = ({ checks }: EvidencePackReport, wanted: string): string | null | undefined =>
  checks.find(({ name, status }) => name === wanted && status === 'failed')?.detail

it('reports an entry that is nested too deeply as one that cannot be read', async () => {
  const [line = '', ...rest] = pack.entries
  for (const depth of [60, 64, 66, 68, 70, 80]) {
    let nested: JsonValue = 1
    for (let at = 0; at < depth; at += 1) nested = [nested]
    const { payload } = readEventLine(line) ?? {}
    const { context } = payload as { readonly context: JsonObject }
    const text = canonicalJson(context).replace(
      '"request_parameters":{}',
      `"request_parameters":{"n":${write(nested)}}`,
    )
    const changed = { entries: [line.replace(canonicalJson(context), text), ...rest], log: null, anchor: null }
    const report = await check(changed)
    expect([depth, report.valid]).toEqual([depth, false])
    expect(() => explainPack({ ...pack, ...changed }, report)).not.toThrow()
  }
})

/** Deeper than the canonical writer goes. */
const write = (value: JsonValue): string => JSON.stringify(value)

it('refuses a checkpoint with more signatures than witnesses can have, or a longer one', () => {
  const { log } = pack
  const note = readNote(log?.checkpoint ?? '')
  const [own] = note?.signatures ?? []
  if (log === null || note === undefined || own === undefined) throw new Error('the pack has no checkpoint')
  const many = Array.from({ length: 80 }, (_, at) => ({ ...own, name: `w${at}`, signature: own.signature.slice(0, 8) }))
  const withNote = (checkpoint: string): Partial<EvidencePack> => ({ log: { ...log, checkpoint } })
  expect(() => reread(withNote(writeNote({ ...note, signatures: [own, ...many] })))).toThrow('too many signatures')
  expect(() => reread(withNote(writeNote({ ...note, text: `${note.text}${'x'.repeat(16_384)}\n` })))).toThrow(
    'too long',
  )
  expect(reread(withNote(writeNote({ ...note, signatures: [own, ...many.slice(1)] }))).log).not.toBeNull()
})

it('refuses an entry and a file of more than their limits', async () => {
  expect(() => reread({ entries: ['x'.repeat(16 * 1024 * 1024 + 1)] })).toThrow(EvidencePackError)
  await writeFile(network.setup.path('large.json'), '')
  await truncate(network.setup.path('large.json'), MAX_PACK_LENGTH + 1)
  for (const line of ['verify large.json', 'verify large.json', 'verify --replay large.json']) {
    const { code, stderr } = await network.run(`${line} --genesis genesis.json`)
    expect([code, stderr]).toEqual([1, expect.stringContaining('The limit is')])
  }
})

it('fails an own attestation without signatures', async () => {
  const report = await check({ attestation: { ...pack.attestation, signatures: [] } })
  expect([report.valid, detailOf(report, 'basis_signature')]).toEqual([false, 'attestation_not_signed'])
})

it('says that the time of a decision is a statement of the authority', async () => {
  expect((await check({})).not_proven.join()).toContain('Not proven: the time of the decision.')
})

it.each(['--key na.pub', '--key-history history.json', '--treaty treaty.json', '--context context.json'])(
  'refuses %s, which would be ignored',
  async (flags) => {
    const { code, stderr } = await network.run(`verify pack.json ${flags}`)
    expect([code, stderr]).toEqual([2, expect.stringContaining(flags.split(' ')[0] ?? '')])
  },
)

describe('a trusted witness', () => {
  it('must have cosigned', async () => {
    const { publicKey } = await testSigner('witness.example')
    const witnesses = [writeWitnessKey({ name: 'witness.example', publicKey })]
    for (const log of [pack.log, null]) {
      const report = await verifyPack(reread({ log, anchor: null }), { genesis: network.genesis, witnesses })
      expect([report.valid, detailOf(report, 'witnesses')]).toEqual([false, 'no_trusted_witness'])
    }
  })

  it('is refused when its key is malformed', async () => {
    const { code, stderr } = await network.run('verify pack.json --genesis genesis.json --key witness.example')
    expect([code, stderr]).toEqual([2, expect.stringContaining('not the verifier key of a witness')])
  })
})
