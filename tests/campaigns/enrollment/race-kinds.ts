import { type JsonObject, sha256Hex } from '@chancery/protocol'
import type { TestResponse } from '@chancery/testkit'
import type { RaceRunner } from '../lib/race-runner.ts'
import { newSigner, seedCertificates, seedInvites, text } from '../lib/rows.ts'

export type Race = (runner: RaceRunner) => Promise<void>

const times = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

async function invites(runner: RaceRunner, count: number): Promise<string[]> {
  const tokens = await seedInvites(runner.rows, runner.random, count)
  for (const token of tokens) runner.seeded.add(sha256Hex(token))
  return tokens
}

async function certificates(runner: RaceRunner, keys: readonly string[]): Promise<string[]> {
  const seeded = await seedCertificates(runner.rows, runner.network, runner.random, keys)
  for (const { cert_id } of seeded) runner.seeded.add(cert_id)
  return seeded.map(({ cert_id }) => cert_id)
}

function revoke(runner: RaceRunner, index: number, body: JsonObject): Promise<TestResponse> {
  return runner.at(index).as('privileged')('POST', '/admin/revoke', body)
}

const rowsOfKey = (runner: RaceRunner, key: string) =>
  runner.rows.query(`select cert_id, status, renewed_from from issued_certs where node_public_key = '${key}'`)

/** One invite, many keys: exactly one certificate. */
export const sameInvite: Race = async (runner) => {
  const [token = ''] = await invites(runner, 1)
  const signers = await Promise.all(times(runner.callers).map(() => newSigner(runner.random)))
  const answers = await Promise.all(signers.map((signer, index) => runner.node(signer, index).join(token)))
  const kinds = answers.map((answer) =>
    runner.notes.countResponse('same invite', answer, ['201', '403 invalid_invite_token']),
  )
  const keys = signers.map((signer) => `'${signer.publicKey}'`).join(', ')
  const issued = await runner.rows.query(`select cert_id from issued_certs where node_public_key in (${keys})`)
  const winners = kinds.filter((kind) => kind === '201').length
  if (winners !== 1 || issued.length !== 1)
    runner.notes.violation(`same invite: ${winners} answers 201, ${issued.length} certificates`)
}

/** One signed heartbeat, or one nonce with several invites: accepted once. */
export const sameNonce: Race = async (runner) => {
  const signer = await newSigner(runner.random)
  const [cert_id = ''] = await certificates(runner, [signer.publicKey])
  const body = await runner.node(signer, 0).prove({ cert_id })
  const beats = await Promise.all(
    times(runner.callers).map((index) => runner.at(index).request('POST', '/heartbeat', { body })),
  )
  const taken = beats.map((answer) =>
    runner.notes.countResponse('same heartbeat', answer, ['200', '401 node_auth_failed']),
  )
  const count = taken.filter((kind) => kind === '200').length
  if (count !== 1) runner.notes.violation(`same heartbeat: taken ${count} times`)

  const tokens = await invites(runner, runner.callers)
  const nonce = `n-${runner.random.next()}`
  const answers = await Promise.all(tokens.map((token, index) => runner.node(signer, index).join(token, { nonce })))
  const kinds = answers.map((answer) =>
    runner.notes.countResponse('same join nonce', answer, ['201', '401 node_auth_failed']),
  )
  const winners = kinds.filter((kind) => kind === '201').length
  const digests = tokens.map((token) => `'${sha256Hex(token)}'`).join(', ')
  const used = await runner.rows.query(
    `select token_digest from invite_tokens where used_at is not null and token_digest in (${digests})`,
  )
  if (winners !== 1 || used.length !== 1)
    runner.notes.violation(`same join nonce: ${winners} certificates, ${used.length} invites used`)
}

/** Many revocations at once: all succeed, the sequence has no gap, and there is no version without a batch. */
export const differentRevocations: Race = async (runner) => {
  const signers = await Promise.all(times(runner.callers).map(() => newSigner(runner.random)))
  const ids = await certificates(
    runner,
    signers.map((signer) => signer.publicKey),
  )
  const lastSequence = async (): Promise<number> =>
    Number((await runner.rows.query('select coalesce(max(sequence), 0) as s from crl_versions'))[0]?.['s'])
  const before = await lastSequence()
  const readers = runner.processes.map((process) => process.request('GET', '/crl'))
  const answers = await Promise.all(ids.map((cert_id, index) => revoke(runner, index, { cert_id })))
  const sequences = new Set<unknown>()
  for (const answer of answers) {
    runner.notes.countResponse('different revocations', answer, ['200'])
    if (answer.status === 200) sequences.add((answer.json as JsonObject)['crl_sequence'])
  }
  const after = await lastSequence()
  // Every response names the version of its batch, so each version must be named in a response.
  if (sequences.size !== after - before)
    runner.notes.violation(`different revocations: ${after - before} versions, ${sequences.size} in responses`)
  const together = await runner.rows.query('select count(*) as n from crl_versions group by xmin having count(*) > 1')
  if (together.length > 0) runner.notes.violation('different revocations: two versions in one transaction')
  for (const answer of await Promise.all(readers)) runner.notes.list(answer)
  for (const process of runner.processes) {
    const answer = await process.request('GET', '/crl')
    runner.notes.list(answer)
    const missing = ids.filter((cert_id) => !answer.text.includes(cert_id))
    if (missing.length > 0)
      runner.notes.violation(`different revocations: ${missing.length} are not in the served list`)
  }
}

/** Renewals and revocations of one certificate: it and exactly the acknowledged successors exist, and are revoked. */
export const renewAgainstRevoke: Race = async (runner) => {
  const signer = await newSigner(runner.random)
  const [cert_id = ''] = await certificates(runner, [signer.publicKey])
  const successors = new Set<unknown>()
  await Promise.all(
    times(runner.callers).map(async (index) => {
      if (index % 4 === 3) {
        runner.notes.countResponse('node renew or revoke', await revoke(runner, index >> 2, { cert_id }), ['200'])
        return
      }
      const answer = await runner.node(signer, index).renew(cert_id)
      runner.notes.countResponse('node renew or revoke', answer, ['201', '403 certificate_revoked'])
      if (answer.status === 201) successors.add((answer.json as JsonObject)['cert_id'])
    }),
  )
  const stored = await rowsOfKey(runner, signer.publicKey)
  const old = stored.find((row) => row['cert_id'] === cert_id)
  if (old?.['status'] !== 'revoked')
    runner.notes.violation(`node renew or revoke: the certificate is ${text(old, 'status')}`)
  const children = stored.filter((row) => row['renewed_from'] === cert_id)
  const isSame = children.length === successors.size && children.every((row) => successors.has(row['cert_id']))
  if (!isSame)
    runner.notes.violation(`node renew or revoke: ${successors.size} acknowledged, ${children.length} stored`)
  if (children.some((row) => row['status'] !== 'revoked'))
    runner.notes.violation('node renew or revoke: a successor is in use after the revocation')
  const late = await runner.node(signer, 1).renew(cert_id)
  runner.notes.countResponse('node renew after revoke', late, ['403 certificate_revoked'])
}

/** A key is reported as compromised while it joins and renews: afterwards none of its certificates is in use. */
export const joinAgainstCompromise: Race = async (runner) => {
  const signer = await newSigner(runner.random)
  const [cert_id = ''] = await certificates(runner, [signer.publicKey])
  const tokens = await invites(runner, runner.callers + 1)
  const burnAt = runner.random.below(runner.callers)
  await Promise.all(
    times(runner.callers).map(async (index) => {
      const name = 'join or burn'
      if (index === burnAt || index % 10 === 9) {
        const answer = await revoke(runner, index, { cert_id, reason: 'key_compromise' })
        runner.notes.countResponse(name, answer, ['200'])
      } else if (index % 5 === 0) {
        const allowed = ['201', '403 certificate_revoked', '403 node_key_compromised']
        runner.notes.countResponse(name, await runner.node(signer, index).renew(cert_id), allowed)
      } else {
        const answer = await runner.node(signer, index).join(tokens[index] ?? '')
        runner.notes.countResponse(name, answer, ['201', '403 node_key_compromised'])
      }
    }),
  )
  const inUse = (await rowsOfKey(runner, signer.publicKey)).filter((row) => row['status'] === 'issued')
  if (inUse.length > 0)
    runner.notes.violation(`join or compromise: ${inUse.length} certificates of a compromised key are in use`)
  const late = await runner.node(signer, 0).join(tokens.at(-1) ?? '')
  runner.notes.countResponse('join after burn', late, ['403 node_key_compromised'])
}

/**
 * One certificate is revoked for different reasons at once: row and list have the most severe reason, and the key is
 * compromised.
 */
export const mixedReasons: Race = async (runner) => {
  const signer = await newSigner(runner.random)
  const [cert_id = ''] = await certificates(runner, [signer.publicKey])
  const [token = ''] = await invites(runner, 1)
  const reasons = ['unspecified', 'cessation_of_operation', 'superseded', 'key_compromise']
  const answers = await Promise.all(
    times(runner.callers).map((index) => revoke(runner, index, { cert_id, reason: reasons[index % 4] ?? '' })),
  )
  for (const answer of answers) runner.notes.countResponse('mixed reasons', answer, ['200'])
  const [row] = await runner.rows.query(`select revocation_reason from issued_certs where cert_id = '${cert_id}'`)
  if (text(row, 'revocation_reason') !== 'key_compromise')
    runner.notes.violation(`mixed reasons: ${text(row, 'revocation_reason')} is stored`)
  const late = await runner.node(signer, 0).join(token)
  runner.notes.countResponse('join after burn', late, ['403 node_key_compromised'])
}

/** Keys with certificates join again while these are revoked, in different orders: no deadlock. */
export const rejoinAgainstRevoke: Race = async (runner) => {
  const half = times(Math.ceil(runner.callers / 2))
  const signers = await Promise.all(half.map(() => newSigner(runner.random)))
  const ids = await certificates(
    runner,
    signers.map((signer) => signer.publicKey),
  )
  const tokens = await invites(runner, signers.length)
  const calls = half.flatMap((index) => [
    async () => {
      const signer = signers[index]
      if (signer === undefined) return
      const answer = await runner.node(signer, runner.random.below(2)).join(tokens[index] ?? '')
      runner.notes.countResponse('rejoin or revoke', answer, ['201'])
    },
    async () => {
      const answer = await revoke(runner, runner.random.below(2), { cert_id: ids[index] ?? '' })
      runner.notes.countResponse('rejoin or revoke', answer, ['200'])
    },
  ])
  const shuffled = calls.map((call) => ({ call, at: runner.random.next() })).sort((a, b) => a.at - b.at)
  await Promise.all(shuffled.map(({ call }) => call()))
}
