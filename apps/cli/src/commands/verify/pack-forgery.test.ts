// oxlint-disable max-lines -- one pack, forged in every way
import { readFile, writeFile } from 'node:fs/promises'
import {
  DAY,
  HOUR,
  SECOND,
  asJson,
  boundaryDecisionForm,
  canonicalJson,
  chainEntry,
  decisionSubject,
  executionSubject,
  instantOf,
  readEventLine,
  readKeyHistory,
  signForm,
  signList,
  writeInstant,
  writeJson,
} from '@chancery/protocol'
import type {
  BoundaryDecision,
  ContextRecord,
  GenesisBlock,
  JsonObject,
  KeyHistory,
  ReadEvent,
  Signer,
} from '@chancery/protocol'
import type { EvidencePack } from '@chancery/sdk/authority'
import {
  verifyPack,
  explainPack,
  readPack,
  writePack,
  type EvidencePackReport,
  type PackCheckName,
  type PackExecutorKey,
  type PackTrust,
} from '@chancery/sdk/evidence'
import { sealPack, verifyPastOfPack } from '@chancery/sdk/internal'
import { FIRST_KEY, type Succeeded, accepted, signExecution, signSuccession, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

// Holds: packs that a sender made from genuine records, from records of another kind of trust, or with a stolen former
// key. The writer of each computed counts and digests again.

let network: RealNetwork
/** The pack of a decision on an agreement, without policies, which is in the log. */
let pack: EvidencePack
let decision: BoundaryDecision
let context: ContextRecord
let event: ReadEvent
/** Two agreements with BETA and one with GAMMA; the first is the one of the decision. */
let agreements: readonly JsonObject[]
let treaties: { readonly ended: JsonObject; readonly gamma: JsonObject }
/** The key of the authority, which a thief has. */
let stolen: Signer

beforeAll(async () => {
  const settings = { NA_ANCHOR_INTERVAL_SECONDS: '0', NA_FOREIGN_FEED_MAX_AGE_SECONDS: '0' }
  network = await openNetwork({ EVIDENCE_STORE: 'on', ...settings })
  stolen = await testSigner(FIRST_KEY.keyId, FIRST_KEY.seed)
  const ended = await recognise('BETA', 1)
  network.clock.advance(2 * 3600)
  await recognise('BETA', 48)
  treaties = { ended, gamma: await recognise('GAMMA', 48) }
  agreements = [await agree('BETA'), await agree('BETA'), await agree('GAMMA')]
  const post = network.na.as('privileged')
  const decide = async (agreement: JsonObject): Promise<string> => {
    const asked = { agreement, requested_capability: 'ledger.read' }
    return String(accepted(await post('POST', '/admin/boundary/decide', asked), 201)['decision_id'])
  }
  const [first = {}, second = {}] = agreements
  const id = await decide(first)
  await decide(second)
  await network.na.features.evidenceLog.append()
  await writeFile(network.setup.path('agreement.json'), writeJson(first))
  const { code, stderr } = await network.asOperator(`evidence pack ${id} --agreement agreement.json --out pack.json`)
  if (code !== 0) throw new Error(stderr)
  pack = readPack(await readFile(network.setup.path('pack.json'), 'utf8'))
  const read = readEventLine(pack.entries[0] ?? '')
  if (read === undefined) throw new Error('the pack has no entry')
  event = read
  ;({ decision, context } = read.payload as unknown as { decision: BoundaryDecision; context: ContextRecord })
})
afterAll(() => network.close())

async function recognise(subject_sovereign_id: string, validity_hours: number): Promise<JsonObject> {
  const { publicKey } = await testSigner(`na-${subject_sovereign_id}`, subject_sovereign_id)
  const scope = { allowed_roles: ['role:client'], claims: { capabilities: ['ledger.*'] } }
  const request = { subject_sovereign_id, subject_public_keys: [publicKey], scope, validity_hours }
  return accepted(await network.na.as('privileged')('POST', '/admin/recognition-treaties', request), 201)
}

async function agree(responder_sovereign_id: string): Promise<JsonObject> {
  const post = network.na.as('privileged')
  const now = network.clock.now()
  const request = {
    responder_sovereign_id,
    capabilities: ['ledger.read'],
    valid_from: writeInstant(now - HOUR),
    valid_until: writeInstant(now + DAY),
    expires_at: writeInstant(now + DAY),
  }
  const offer = accepted(await post('POST', '/admin/agreements/offer', request), 201)
  return accepted(await post('POST', '/admin/agreements/accept', { offer }), 201)
}

const check = (changed: Partial<EvidencePack>, trust?: PackTrust): Promise<EvidencePackReport> => {
  const sealed = sealPack({ ...pack, ...changed })
  return verifyPack(readPack(writePack(sealed)), trust ?? { genesis: network.genesis })
}

const statusOf = ({ checks }: EvidencePackReport, name: PackCheckName): string | undefined =>
  checks.find((each) => each.name === name)?.status

/** The entry of a decision that its writer put together, with digests that fit. */
function entryOf(made: BoundaryDecision, asked: ContextRecord): string {
  const { store_sequence, prev_entry_digest, recorded_at } = event.entry
  const head = { store_sequence: store_sequence - 1, entry_digest: prev_entry_digest }
  const payload = canonicalJson(asJson({ decision: made, context: asked }))
  return chainEntry(head, decisionSubject({ decision: made, context: asked }), payload, recorded_at).line
}

describe('the request of a decision without policies', () => {
  it('is proven by the log', async () => {
    const report = await check({})
    expect([report.valid, statusOf(report, 'context')]).toEqual([true, 'passed'])
    expect(explainPack(pack, report)?.heading).toBe('Allowed: ledger.read for BETA')
  })

  it('is not stated when it was exchanged and the log left out', async () => {
    const forged = { ...context, requested_capability: 'vault.open', request_parameters: { amount: 1_000_000 } }
    const changed = { entries: [entryOf(decision, forged)], log: null, anchor: null }
    const report = await check(changed)
    expect(statusOf(report, 'context')).toBe('unchecked')
    expect(report.not_proven.join()).toContain('Not proven: what was requested, and by whom.')
    expect(JSON.stringify(explainPack({ ...pack, ...changed }, report))).not.toContain('vault.open')
    expect(statusOf(await check({ ...changed, log: pack.log }), 'inclusion')).toBe('failed')
  })

  it.each([
    ['context_id', { context_id: 'another' }],
    ['agreement_id', { agreement_id: 'another' }],
    ['requested_at', { requested_at: '2030-01-02T03:00:00Z' }],
  ])('fails with another %s than that of the decision', async (_name, change) => {
    const report = await check({ entries: [entryOf(decision, { ...context, ...change })], log: null, anchor: null })
    expect([report.valid, statusOf(report, 'context')]).toEqual([false, 'failed'])
  })
})

describe('an agreement', () => {
  it('is never the proven basis, because its id is not signed', async () => {
    const { agreement_id } = pack.agreement ?? {}
    const [, second = {}] = agreements
    for (const agreement of [pack.agreement, { ...second, agreement_id: agreement_id ?? null }])
      expect(statusOf(await check({ agreement }), 'basis')).toBe('unchecked')
  })

  it('fails when it is one with another party', async () => {
    const agreement = { ...agreements[2], agreement_id: decision.agreement_id }
    const report = await check({ agreement, treaty: treaties.gamma })
    expect([report.valid, statusOf(report, 'basis')]).toEqual([false, 'failed'])
  })

  it('fails with a treaty that had ended', async () => {
    const report = await check({ treaty: treaties.ended })
    expect([report.valid, statusOf(report, 'treaty')]).toEqual([false, 'failed'])
  })
})

/** A pack with an execution that its writer signed. */
async function withExecution(
  store_sequence: number,
): Promise<Partial<EvidencePack> & { readonly key: PackExecutorKey }> {
  const signer = await testSigner('writer-key')
  const record = await signExecution(decision, signer, { executed_capability: 'ledger.read' })
  const { vendor_id, attestation_id, recorded_at } = event.entry
  const subject = executionSubject(record, { vendor_id, attestation_id })
  const head = { store_sequence: store_sequence - 1, entry_digest: event.entryDigest }
  const { line } = chainEntry(head, subject, canonicalJson(asJson(record)), recorded_at)
  const { executor_sovereign_id } = record
  const key = { key_id: signer.keyId, public_key: signer.publicKey, executor_sovereign_id }
  const log = pack.log === null ? null : { ...pack.log, proofs: [...pack.log.proofs, null] }
  return { entries: [...pack.entries, line], executor_keys: [key], log, key }
}

describe('an execution', () => {
  it('that is not in the log is not stated, and is reported as not proven', async () => {
    const { key: _key, ...changed } = await withExecution(1000)
    for (const log of [changed.log ?? null, null]) {
      const report = await check({ ...changed, log })
      expect(statusOf(report, 'executions')).toBe('unchecked')
      expect(report.not_proven.join()).toContain('Not proven: whether the action was executed.')
      expect(explainPack({ ...pack, ...changed }, report)?.executions).toEqual([])
    }
  })

  it('that a trusted key signed is stated, and any other signer fails', async () => {
    const { key, ...changed } = await withExecution(1000)
    const trust = (public_key: string): PackTrust => ({
      genesis: network.genesis,
      executorKeys: new Map([[key.key_id, public_key]]),
    })
    const report = await check(changed, trust(key.public_key))
    expect([report.valid, statusOf(report, 'executions')]).toEqual([true, 'passed'])
    expect(explainPack({ ...pack, ...changed }, report)?.executions).toHaveLength(1)
    expect((await check(changed, trust(stolen.publicKey))).valid).toBe(false)
    const hidden = await check({ ...changed, executor_keys: [] }, trust(key.public_key))
    expect([hidden.valid, statusOf(hidden, 'executions')]).toEqual([false, 'failed'])
  })

  it('fails when the keys of the executors are not in order', async () => {
    const { key, ...changed } = await withExecution(1000)
    const unused = { ...key, key_id: 'another-key' }
    const details = [
      [unused, key],
      [key, unused],
    ].map(async (executor_keys) => {
      const { checks } = await check({ ...changed, executor_keys })
      return checks.find(({ name }) => name === 'executions')?.detail
    })
    expect(await Promise.all(details)).toEqual(['executor_key_not_used: another-key', 'executor_keys_not_in_order'])
  })

  it('fails without its proof where the checkpoint covers its place', async () => {
    const { key: _key, ...changed } = await withExecution(event.entry.store_sequence + 1)
    const report = await check(changed)
    expect([report.valid, statusOf(report, 'inclusion')]).toEqual([false, 'failed'])
  })
})

describe('a pack with an earlier genesis block than the trusted one', () => {
  let next: { readonly genesis: GenesisBlock; readonly history: KeyHistory }
  beforeAll(async () => {
    const present = { genesis: network.genesis, key: FIRST_KEY }
    const key = { keyId: 'na-2', seed: 'na-2' }
    next = await signSuccession(network.setup.path('.'), present, key, network.clock.now() + DAY)
  })

  it('fails without a key history, and passes with the one that lists its key at that time', async () => {
    const without = await check({}, { genesis: next.genesis })
    expect([without.valid, statusOf(without, 'root_key')]).toEqual([false, 'failed'])
    expect((await check({}, { genesis: next.genesis, keyHistory: next.history })).valid).toBe(true)
    await writeFile(network.setup.path('next.json'), writeJson(next.genesis))
    await writeFile(network.setup.path('history.json'), writeJson(next.history))
    expect((await network.run('verify pack.json --genesis next.json')).code).toBe(1)
    for (const line of ['verify pack.json', 'verify pack.json'])
      expect((await network.run(`${line} --genesis next.json --key-history history.json`)).code).toBe(0)
  })

  it('fails when the block is exchanged for another genuine one, whose key did not sign the decision', async () => {
    const last = await signSuccession(
      network.setup.path('.'),
      { ...next, key: { keyId: 'na-2', seed: 'na-2' } },
      { keyId: 'na-3', seed: 'na-3' },
      network.clock.now() + DAY + DAY,
    )
    const trust = { genesis: last.genesis, keyHistory: last.history }
    expect((await check({}, trust)).valid).toBe(true)
    const report = await check({ genesis: next.genesis }, trust)
    expect([report.valid, statusOf(report, 'root_key'), statusOf(report, 'decision')]).toEqual([
      false,
      'passed',
      'failed',
    ])
  })

  it('fails when the key was not in use at the time of the decision', async () => {
    const made = instantOf(decision.decision_made_at)
    const former_keys = next.history.former_keys.map((key) => ({ ...key, valid_to: writeInstant(made - SECOND) }))
    const keyHistory = await signHistory({ ...next.history, former_keys })
    const report = await check({}, { genesis: next.genesis, keyHistory })
    expect([report.valid, statusOf(report, 'decision')]).toEqual([false, 'failed'])
    const none = await signHistory({ ...next.history, former_keys: [] })
    const unlisted = await check({}, { genesis: next.genesis, keyHistory: none })
    expect([unlisted.valid, statusOf(unlisted, 'root_key')]).toEqual([false, 'failed'])
  })

  it('fails with an older key history than the trusted one, which no longer lists the key', async () => {
    const issued_at = writeInstant(instantOf(next.history.issued_at) + SECOND)
    const withdrawn = await signHistory({ ...next.history, issued_at, former_keys: [] })
    const older = { genesis: next.genesis, key_history: next.history }
    expect((await check(older, { genesis: next.genesis, keyHistory: next.history })).valid).toBe(true)
    const report = await check(older, { genesis: next.genesis, keyHistory: withdrawn })
    expect([report.valid, statusOf(report, 'decision')]).toEqual([false, 'failed'])
    // A newer block does not bring the key back.
    const newer = await succeedNext(next)
    const mixed = { genesis: newer.genesis, key_history: next.history }
    expect(statusOf(await check(mixed, { genesis: next.genesis }), 'decision')).toBe('passed')
    expect(statusOf(await check(mixed, { genesis: next.genesis, keyHistory: withdrawn }), 'decision')).toBe('failed')
  })

  it('fails with a genuine block and a genuine key history of different times', async () => {
    const newer = await succeedNext(next)
    const trust = { genesis: newer.genesis, keyHistory: newer.history }
    const own = { genesis: newer.genesis, key_history: newer.history }
    expect(statusOf(await check(own, trust), 'key_history')).toBe('passed')
    for (const mixed of [
      { ...own, key_history: next.history },
      { ...own, genesis: next.genesis },
    ]) {
      const report = await check(mixed, trust)
      expect([report.valid, statusOf(report, 'key_history')]).toEqual([false, 'failed'])
    }
  })

  it('proves a past state with a note that the key is a former one', async () => {
    const at = instantOf(decision.decision_made_at)
    const subject = { kind: 'treaty', id: String(pack.treaty?.treaty_id) } as const
    const notesWith = async (trust: PackTrust): Promise<readonly unknown[]> => {
      const { state, notes } = await verifyPastOfPack(subject, pack, { at, trust })
      return [state, notes]
    }
    expect(await notesWith({ genesis: network.genesis })).toEqual(['trusted', []])
    expect(await notesWith({ genesis: next.genesis, keyHistory: next.history })).toEqual(['trusted', ['former_key']])
  })
})

/** The succession after the one to `na-2`. */
function succeedNext(next: Omit<Succeeded, 'key'>): ReturnType<typeof signSuccession> {
  const present = { ...next, key: { keyId: 'na-2', seed: 'na-2' } }
  return signSuccession(
    network.setup.path('.'),
    present,
    { keyId: 'na-4', seed: 'na-4' },
    network.clock.now() + DAY + DAY,
  )
}

async function signHistory(history: KeyHistory): Promise<KeyHistory> {
  const signed = await signList({ ...history, signatures: [] }, await testSigner('rs-test', 'root'))
  return readKeyHistory(asJson(signed))
}

describe('keys', () => {
  it('do not count for a decision that is dated outside the period of the block', async () => {
    const at = writeInstant(instantOf(network.genesis.network_authority.valid_from) - DAY)
    const draft = { ...decision, decision_made_at: at, signature: null }
    const made = await signForm(boundaryDecisionForm, draft, stolen)
    const entries = [entryOf(made, { ...context, requested_at: at })]
    const report = await check({ entries, log: null, anchor: null, agreement: null, treaty: null })
    expect([report.valid, statusOf(report, 'decision')]).toEqual([false, 'failed'])
  })

  it('of a history that does not verify are not used', async () => {
    const other = await testSigner('na-other')
    const { valid_from, valid_to } = network.genesis.network_authority
    const key_history: KeyHistory = {
      network_name: network.genesis.network_name,
      root_public_key: network.genesis.root_public_key,
      issued_at: decision.decision_made_at,
      former_keys: [{ key_id: 'na-other', public_key: other.publicKey, valid_from, valid_to }],
      signatures: [],
    }
    const made = await signForm(boundaryDecisionForm, { ...decision, signature: null }, other)
    const report = await check({ key_history, entries: [entryOf(made, context)], log: null, anchor: null })
    expect([statusOf(report, 'key_history'), statusOf(report, 'decision')]).toEqual(['failed', 'failed'])
  })

  it('that are too many for a large record fail its check, and no other', async () => {
    const { valid_from, valid_to } = network.genesis.network_authority
    const newKey = async (_: unknown, at: number): Promise<KeyHistory['former_keys'][number]> => {
      const { keyId, publicKey } = await testSigner(`former-${at}`)
      return { key_id: keyId, public_key: publicKey, valid_from, valid_to }
    }
    const former_keys = await Promise.all(Array.from({ length: 64 }, newKey))
    const { network_name, root_public_key } = network.genesis
    const issued_at = decision.decision_made_at
    const key_history = await signHistory({ network_name, root_public_key, issued_at, former_keys, signatures: [] })
    const agreed_terms = { ...(pack.agreement?.['agreed_terms'] as JsonObject), scope: { text: 'x'.repeat(300_000) } }
    const report = await check({ key_history, agreement: { ...pack.agreement, agreed_terms } })
    const failures = report.checks.filter(({ status }) => status === 'failed')
    expect(failures.map(({ name, detail }) => `${name} ${detail ?? ''}`)).toEqual([
      expect.stringContaining('basis_signature cannot_be_checked: '),
    ])
  })

  it('of the root alone do not prove that the block is in force, nor which network it is', async () => {
    const rootKey = network.genesis.root_public_key
    const report = await check({}, { rootKey })
    expect([report.valid, report.not_proven.join()]).toEqual([true, expect.stringContaining('still in force')])
    expect((await check({}, { rootKey, network: network.genesis.network_name })).valid).toBe(true)
    expect((await check({}, { rootKey, network: 'OTHER-NET' })).valid).toBe(false)
  })
})
