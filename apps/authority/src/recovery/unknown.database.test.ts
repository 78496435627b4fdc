import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { JsonObject } from '@chancery/protocol'
import {
  ManualClock,
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
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inspectStore } from '../features/evidence/verify-store.ts'
import { PublishedListError, chooseOwnList, readGatewayLists } from './published-lists.ts'
import { inspectDatabase } from './inspect.ts'
import { adoptUnknown, restoreListed, revokeUnknown } from './resolve-unknown.ts'
import { SourceUnusableError, findUnknown } from './unknown.ts'
import { ruleTerms } from '../features/admission/admission-rule.suite.ts'
import { rowsOf } from '../testing/rows.suite.ts'

const clock = new ManualClock()
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

let counter = 0
interface Later {
  readonly node: NodeCaller
  readonly cert_id: string
  readonly text: string
  readonly line: string
}

/** A node that joined after the backup: the database lacks its certificate and the event of its join. */
async function joinLater(validity: JsonObject = {}): Promise<Later> {
  counter += 1
  const node = nodeCaller(na.url, await testSigner('node', `later-${counter}`), () => clock.now())
  const { cert_id } = await enroll(na, node, validity)
  const db = rowsOf(na.core.database)
  const row = await db.selectFrom('issued_certs').selectAll().where('cert_id', '=', cert_id).executeTakeFirstOrThrow()
  const event = (await na.auditEvents('certificate_issued')).find((each) => detailsOf(each)['cert_id'] === cert_id)
  await db.deleteFrom('node_liveness').where('cert_id', '=', cert_id).execute()
  await db.deleteFrom('issued_certs').where('cert_id', '=', cert_id).execute()
  return { node, cert_id, text: row.cert_json, line: JSON.stringify({ ...event, event_id: randomUUID() }) }
}
const look = (events: readonly string[], certificates: readonly string[] = []) =>
  findUnknown(na.parts, { events, certificates })
const idsOf = (report: Awaited<ReturnType<typeof look>>): string[] => report.certificates.map((each) => each.cert_id)

describe('records that others have and a restored database lacks', () => {
  it('are found in audit events and certificates, and stored records are not named', async () => {
    const [one, two] = [await joinLater(), await joinLater()]
    const known = await enroll(
      na,
      nodeCaller(na.url, await testSigner('node', 'known'), () => clock.now()),
    )
    const stored = (await na.auditEvents('certificate_issued')).map((event) => JSON.stringify(event))
    const report = await look([...stored, one.line, '', two.line], [two.text, JSON.stringify(known)])
    expect(idsOf(report)).toEqual([one.cert_id, two.cert_id].sort())
    expect(report).toMatchObject({ events: { certificate_issued: 2 }, foreign: 0, ended: 0 })
    expect(report.certificates.find((each) => each.cert_id === two.cert_id)?.certificate?.cert_id).toBe(two.cert_id)
  })

  it('exclude expired certificates, certificates of other signers, and truncated ones', async () => {
    const short = await joinLater({ max_validity_hours: 1 })
    const forged = JSON.stringify({ ...(JSON.parse((await joinLater()).text) as JsonObject), roles: ['role:operator'] })
    clock.advance(3601)
    const report = await look([short.line], [short.text, forged, 'no certificate', '{"cert_id":1}'])
    expect(report).toMatchObject({ certificates: [], ended: 1, foreign: 3 })
    for (const line of ['{"event_id":"a"', '[]', '{"event_id":"a","event_type":"b"}'])
      await expect(look([line])).rejects.toBeInstanceOf(SourceUnusableError)
  })

  it('are adopted by their own text: the node continues, and they can be revoked as any other', async () => {
    const { node, cert_id, text, line } = await joinLater()
    refused(await node.heartbeat(cert_id), 403, 'certificate_not_found')
    const other = await joinLater()
    const { certificates } = await look([line, other.line], [text])
    expect(await adoptUnknown(na.parts, certificates)).toEqual({ adopted: 1, barred: 0 })
    accepted(await node.heartbeat(cert_id))
    accepted(await node.renew(cert_id), 201)
    const events = await na.auditEvents('certificate_adopted')
    expect(events.map((event) => detailsOf(event)['cert_id'])).toEqual([cert_id])
    // Without its text it stays unknown.
    expect(idsOf(await look([line, other.line], [text]))).toEqual([other.cert_id])
    accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id }))
  })

  it('that evidence admitted are renewed with evidence only, also when only the roles and hours show it', async () => {
    const rule = ruleTerms('adopted-rule', { roles: ['role:service:ci'], max_validity_hours: 2 })
    accepted(await na.as('privileged')('POST', '/admin/admission-rules', rule), 201)
    const byEvent = await joinLater()
    const event = JSON.parse(byEvent.line) as { details: JsonObject }
    const line = JSON.stringify({ ...event, details: { ...event.details, rule_id: 'lost-rule' } })
    const ci = { roles: ['role:service:ci'] }
    const [byRoles, longer, invited] = [
      await joinLater({ ...ci, max_validity_hours: 2 }),
      await joinLater({ ...ci, max_validity_hours: 3 }),
      await joinLater({ ...ci, max_validity_hours: 2 }),
    ]
    const all = [byEvent, byRoles, longer, invited]
    const { certificates } = await look(
      [line, invited.line],
      all.map(({ text }) => text),
    )
    expect(await adoptUnknown(na.parts, certificates)).toEqual({ adopted: 4, barred: 0 })
    for (const { node, cert_id } of [byEvent, byRoles]) refused(await node.renew(cert_id), 403, 'evidence_required')
    for (const { node, cert_id } of [longer, invited]) accepted(await node.renew(cert_id), 201)
    const rules = (await na.auditEvents('certificate_adopted')).map(detailsOf)
    const ruleOf = ({ cert_id }: Later) => rules.find((each) => each['cert_id'] === cert_id)?.['rule_id']
    expect(all.map(ruleOf)).toEqual(['lost-rule', 'adopted-rule', undefined, undefined])
  })

  it('are not adopted when their key is barred', async () => {
    const { node, text, line } = await joinLater()
    const { cert_id } = await enroll(na, node)
    accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id, reason: 'key_compromise' }))
    const { certificates } = await look([line], [text])
    expect(await adoptUnknown(na.parts, certificates)).toEqual({ adopted: 0, barred: 1 })
    expect(idsOf(await look([line], [text]))).toHaveLength(1)
  })

  it('are revoked again when only the list names them, and a compromised key is barred again', async () => {
    for (const withText of [true, false]) {
      const { node, cert_id, text, line } = await joinLater()
      const key = node.key
      const body = { cert_id, node_public_key: key, reason: 'key_compromise' }
      accepted(await na.as('privileged')('POST', '/admin/revoke', body))
      await rowsOf(na.core.database).deleteFrom('issued_certs').where('cert_id', '=', cert_id).execute()
      const report = await look([line], withText ? [text] : [])
      expect([idsOf(report), report.listed.map((each) => each.cert_id)]).toEqual([[], [cert_id]])
      expect(await restoreListed(na.parts, report.listed)).toBe(1)
      refused(await node.join(await createInvite(na)), 403, 'node_key_compromised')
      expect((await look([line])).listed).toEqual([])
      const events = (await na.auditEvents('certificate_revoked')).map(detailsOf)
      const again = events.filter((each) => each['cert_id'] === cert_id && each['known_by'] === 'list')
      expect(again).toMatchObject([{ reason: 'key_compromise', job: 'recover' }])
    }
    const authority = { sovereign: 'TEST-NET', publicKeys: na.core.keys.all }
    expect((await inspectDatabase(na.core.database.read, authority, inspectStore)).problems).toEqual([])
  })

  it('are revoked, with a text or without, in one list that names all', async () => {
    const [one, two] = [await joinLater(), await joinLater()]
    const { certificates } = await look([one.line, two.line], [two.text])
    const sequence = await revokeUnknown(na.parts, certificates, 'cessation_of_operation')
    const list = await fetchCrl(na.url, na.genesis.network_authority.public_key)
    expect(list.sequence).toBe(sequence)
    for (const { cert_id } of [one, two]) expect(entryOf(list, cert_id)?.reason).toBe('cessation_of_operation')
    expect(idsOf(await look([one.line, two.line], [two.text]))).toEqual([])
    refused(await two.node.heartbeat(two.cert_id), 403, 'certificate_revoked')
  })
})

describe('the copy of the state of a gateway', () => {
  it('contains the newest list of this authority, and no other file is accepted as one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-gateway-copy-'))
    try {
      const { text } = await na.request('GET', '/crl')
      const path = join(folder, 'gateway.state')
      const file = new DatabaseSync(path)
      file.exec('pragma application_id = 0x43484757; create table checkpoints (network text, body text)')
      file.prepare('insert into checkpoints values (?, ?)').run('other', '{"sequence":9}')
      file.prepare('insert into checkpoints values (?, ?)').run('ours', text)
      file.close()
      const lists = readGatewayLists(path) ?? []
      expect(lists).toHaveLength(2)
      expect(await chooseOwnList(lists, na.core.keys.current)).toBe(text)
      const { publicKey } = await testSigner('na', 'stranger')
      await expect(chooseOwnList(lists, publicKey)).rejects.toBeInstanceOf(PublishedListError)
      await writeFile(join(folder, 'list.json'), text)
      expect(readGatewayLists(join(folder, 'list.json'))).toBeUndefined()
      expect(readGatewayLists(join(folder, 'missing'))).toBeUndefined()
      const wrong = new DatabaseSync(join(folder, 'wrong.db'))
      wrong.exec('create table checkpoints (body text)')
      wrong.close()
      expect(() => readGatewayLists(join(folder, 'wrong.db'))).toThrow(PublishedListError)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
