import { randomUUID } from 'node:crypto'
import { type JsonObject, signList } from '@chancery/protocol'
import {
  accepted,
  createInvite,
  detailsOf,
  enroll,
  entryOf,
  fetchCrl,
  nodeCaller,
  refused,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { NodeCaller, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeUnknown } from './describe-unknown.ts'
import { adoptUnknown, revokeAgain, revokeUnknown } from './resolve-unknown.ts'
import { SourceUnusableError, findUnknown } from './unknown.ts'
import { rowsOf } from '../testing/rows.suite.ts'

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

let counter = 0
async function join(): Promise<{ node: NodeCaller; cert_id: string; text: string }> {
  counter += 1
  const node = nodeCaller(na.url, await testSigner('node', `heard-${counter}`), () => na.core.clock.now())
  const { cert_id } = await enroll(na, node)
  const { cert_json } = await na.core.database.read
    .selectFrom('issued_certs')
    .select('cert_json')
    .where('cert_id', '=', cert_id)
    .executeTakeFirstOrThrow()
  return { node, cert_id, text: cert_json }
}

/** The state of a restored database that lacks it. */
async function removeRows(cert_id: string): Promise<void> {
  const db = rowsOf(na.core.database)
  await db.deleteFrom('node_liveness').where('cert_id', '=', cert_id).execute()
  await db.deleteFrom('issued_certs').where('cert_id', '=', cert_id).execute()
}

const line = (event_type: string, details: JsonObject): string =>
  JSON.stringify({ event_id: randomUUID(), event_type, created_at: new Date().toISOString(), details })
const revoked = (cert_id: string, reason: string): string => line('certificate_revoked', { cert_id, reason })
const listNow = () => fetchCrl(na.url, na.genesis.network_authority.public_key)

it('a certificate that is revoked in the events is not adopted, but revoked for that reason', async () => {
  const [lost, fine] = [await join(), await join()]
  for (const { cert_id } of [lost, fine]) await removeRows(cert_id)
  const events = [revoked(lost.cert_id, 'key_compromise'), revoked(lost.cert_id, 'superseded')]
  const { certificates } = await findUnknown(na.parts, { events, certificates: [lost.text, fine.text] })
  expect(certificates.find(({ cert_id }) => cert_id === lost.cert_id)?.revokedFor).toBe('key_compromise')
  expect(await adoptUnknown(na.parts, certificates)).toEqual({ adopted: 1, barred: 0 })
  refused(await lost.node.heartbeat(lost.cert_id), 403, 'certificate_not_found')
  accepted(await fine.node.heartbeat(fine.cert_id))
  await revokeUnknown(
    na.parts,
    certificates.filter(({ cert_id }) => cert_id === lost.cert_id),
    'unspecified',
  )
  expect(entryOf(await listNow(), lost.cert_id)?.reason).toBe('key_compromise')
  refused(await lost.node.join(await createInvite(na)), 403, 'node_key_compromised')
})

it('a certificate of the database that is revoked in the events is named, and revoked again', async () => {
  const [one, other] = [await join(), await join()]
  const events = [revoked(one.cert_id, 'cessation_of_operation'), revoked('of an unknown node', 'unspecified')]
  const { validAgain, certificates } = await findUnknown(na.parts, { events, certificates: [] })
  expect([certificates, validAgain]).toEqual([[], [{ cert_id: one.cert_id, revokedFor: 'cessation_of_operation' }]])
  const reported = describeUnknown(
    await findUnknown(na.parts, { events: [...events, line('\u001b[2J', {})], certificates: [] }),
  )
  expect(reported).toContain(`  ${one.cert_id}  cessation_of_operation`)
  expect(reported).toContain('  1 \\u001b[2J')
  await revokeAgain(na.parts, validAgain)
  const list = await listNow()
  expect(entryOf(list, one.cert_id)?.reason).toBe('cessation_of_operation')
  expect(entryOf(list, other.cert_id)).toBeUndefined()
  expect((await findUnknown(na.parts, { events, certificates: [] })).validAgain).toEqual([])
  const recorded = (await na.auditEvents('certificate_revoked')).map(detailsOf)
  expect(recorded.find(({ cert_id }) => cert_id === one.cert_id)).toMatchObject({ job: 'recover' })
})

it('an event with an invalid certificate id stops everything: a list with it would be unreadable', async () => {
  const { publicKey } = await testSigner('node', 'whoever')
  const unusable: [string, JsonObject][] = [
    ['certificate_issued', { cert_id: '', node_public_key: publicKey }],
    ['certificate_issued', { cert_id: 'line\nbreak', node_public_key: publicKey }],
    ['certificate_renewed', { new_cert_id: 'x'.repeat(129), node_public_key: publicKey }],
    ['certificate_issued', { cert_id: 'c-1', node_public_key: 'no key' }],
    ['membership_attestation_revoked', { attestation_id: 'line\nbreak', reason: 'unspecified' }],
    ['membership_attestation_issued', { attestation_id: 'x'.repeat(300) }],
    ['membership_attestation_revoked', { attestation_id: 'a-1', reason: 'x'.repeat(5000) }],
  ]
  for (const [type, details] of unusable)
    await expect(findUnknown(na.parts, { events: [line(type, details)], certificates: [] })).rejects.toBeInstanceOf(
      SourceUnusableError,
    )
})

it('a certificate that a former key signed after its period can be revoked, and not adopted', async () => {
  const { cert_id, text } = await join()
  await removeRows(cert_id)
  const former = await testSigner('na', 'former')
  const { signatures: _ours, ...draft } = JSON.parse(text) as JsonObject
  const certificates = [JSON.stringify(await signList({ ...draft, issued_by: former.keyId }, former))]
  const look = async (valid_to: string) => {
    const window = { key_id: 'na-0', public_key: former.publicKey, valid_from: '2020-01-01T00:00:00Z', valid_to }
    const keys = { ...na.core.keys, former: [window], all: [...na.core.keys.all, former.publicKey] }
    return findUnknown({ ...na.parts, keys }, { events: [], certificates })
  }
  for (const [valid_to, isAdopted] of [
    ['2021-01-01T00:00:00Z', false],
    ['2200-01-01T00:00:00Z', true],
  ] as const) {
    const [found] = (await look(valid_to)).certificates
    expect([found?.cert_id, found?.certificate !== undefined]).toEqual([cert_id, isAdopted])
  }
})
