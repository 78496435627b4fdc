import { type Partner, Refusal, partners } from '@chancery/contract'
import { writeSortable } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Transaction } from '../../database/database.ts'
import { requirePartner, showPartner } from './view.ts'
import { type Pin, type StoredFacts, pinDigest, readFacts, writeFacts } from './stored-facts.ts'
import { type ShownAlarm, countOpenAlarms, findAlarm, hasOpenTreatyAlarm, markCleared } from './queries/alarms.ts'
import { type PartnerRow, setSequence, updatePartner } from './queries/partners.ts'
import { deleteHidden } from './queries/reported.ts'
import { readForm } from '../../requests/read-fields.ts'
import type { PartnersState } from './alarms.ts'

/**
 * POST /admin/partners/{sovereign_id}/clear-alarm
 * Ends an alarm. The next content of the partner then counts. Nothing becomes unrevoked.
 */
export async function clearAlarm(call: OperatorCall, parts: PartnersState): Promise<Partner> {
  const { sovereign_id } = await requirePartner(parts.database.read, call)
  const { alarm_id, reason } = readForm(partners.clearAlarm.body, call.body)
  return parts.database.write(async (tx) => {
    await tx.lock('partners')
    const row = await requirePartner(tx.query, call)
    const alarm = await findAlarm(tx.query, sovereign_id, alarm_id)
    if (alarm === undefined) throw new Refusal('alarm_not_found')
    if (alarm.cleared_at !== null) return showPartner(parts, row, tx.query)
    await markCleared(tx, alarm_id, writeSortable(parts.clock.now()))
    const changes = {
      open_alarms: await countOpenAlarms(tx.query, sovereign_id),
      stored_json: writeFacts(await forget(tx, row, alarm)),
      // A running pull compared with the former content.
      pull_token: null,
      pull_until: null,
    }
    await updatePartner(tx, sovereign_id, changes)
    const { kind, material } = alarm
    const details = { sovereign_id, alarm_id, kind, material, reason, ...requestDetails(call) }
    await parts.audit.record(tx, { type: 'partner_alarm_cleared', details })
    return showPartner(parts, { ...row, ...changes }, tx.query)
  })
}

/** The facts without the comparison that raised the alarm. */
async function forget(tx: Transaction, row: PartnerRow, alarm: ShownAlarm): Promise<StoredFacts> {
  const { sovereign_id } = row
  const { kind, material } = alarm
  const facts = readFacts(row.stored_json)
  if (kind === 'rollback')
    await setSequence(tx, {
      sovereign_id,
      pin_digest: pinDigest(JSON.parse(row.pin_json) as Pin),
      material,
      sequence: 0,
    })
  if (material === 'treaty') {
    // Treaties without an alarm of their own are shown again with the last alarm.
    const isLast = !(await hasOpenTreatyAlarm(tx.query, sovereign_id))
    const digests = [alarm.held_digest, alarm.offered_digest].filter((digest) => digest !== null)
    await deleteHidden(tx, sovereign_id, isLast ? 'all' : digests)
    return facts
  }
  if (material === 'key_history') return { ...facts, former_keys: [], history_digest: null }
  if (kind !== 'rollback' && kind !== 'equivocation') return facts
  if (material === 'crl' && facts.crl !== undefined) {
    const { etag: _etag, ...crl } = facts.crl
    return { ...facts, crl: { ...crl, entries_digest: null }, rollbacks: { ...facts.rollbacks, crl: 0 } }
  }
  if (material !== 'feed' || facts.feed === undefined) return facts
  const { etag: _etag, ...feed } = facts.feed
  return { ...facts, feed: { ...feed, ids_digest: null }, rollbacks: { ...facts.rollbacks, feed: 0 } }
}
