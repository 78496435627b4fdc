import { type Partner, type PartnerPull, Refusal, partners } from '@chancery/contract'
import { type Instant, SECOND, readInstant, writeJson, writeSortable, type JsonObject } from '@chancery/protocol'
import type { Feature } from '../../core.ts'
import { bind } from '../../auth/access.ts'
import { BatchedRead } from '../../database/batched-read.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { add, columnsOf, introduce } from './add.ts'
import { clearAlarm } from './clear-alarm.ts'
import { choicesOf, find, requirePartner, showPartner } from './view.ts'
import { list } from './list.ts'
import { MaterialChecks } from './material-checks.ts'
import type { PartnersParts, PartnersState } from './alarms.ts'
import { claim, performPull, pullDue } from './perform-pull.ts'
import {
  type PartnerRow,
  READ_FRESHNESS,
  deleteMaterial,
  findPartner,
  updatePartner,
  deletePartner,
  listOwnTreaties,
} from './queries/partners.ts'
import { readForm } from '../../requests/read-fields.ts'
import { requestDetails } from '../../audit/record.ts'
import { checkPin, readUpdateRequest } from './requests.ts'
import { NO_FACTS, type Pin, acceptedKeys, keysAt, readFacts, writeFacts } from './stored-facts.ts'
import type { HttpResponse } from '@chancery/service-kit'
import { toWireTime } from '../../requests/list-position.ts'
import { listResponse, readPage, readRows, writeCursor } from '../../requests/paging.ts'
import { reportedList } from './queries/reported.ts'
import { nextPull } from './store-pull.ts'

/**
 * POST /admin/partners/{sovereign_id}/remove
 * Ends the pulls of a partner and removes the treaties it reported. Own treaties and imported revocations stay.
 */
export async function remove(call: OperatorCall, parts: PartnersState): Promise<JsonObject> {
  const { sovereign_id } = await requirePartner(parts.database.read, call)
  const { reason, dry_run } = readForm(partners.remove.body, call.body)
  return parts.database.write(async (tx) => {
    await tx.lock('partners')
    await requirePartner(tx.query, call)
    const rows = await listOwnTreaties(tx.query, parts.network.name, parts.clock.now(), sovereign_id)
    const treaties_in_force = rows.map((treaty) => treaty.treaty_id)
    if (dry_run) return { sovereign_id, removed: false, dry_run: true, treaties_in_force }
    await deletePartner(tx, sovereign_id)
    await tx.raiseVersion('partners')
    const details = { sovereign_id, reason, treaties_in_force: rows.length, ...requestDetails(call) }
    await parts.audit.record(tx, { type: 'partner_removed', details })
    return { sovereign_id, removed: true, treaties_in_force }
  })
}

export { STATES } from './partner-state.ts'
export type { State as PartnerState } from './partner-state.ts'
export { countKeyChanges, countReportedTreaties, countStates, describePartners } from './summary.ts'
export type { DescribedPartners, PartnerLine, PartnersView } from './summary.ts'

const LONGEST_MS = 330_000
const ONE_IN = 10n * SECOND

/**
 * POST /admin/partners/{sovereign_id}/pull
 * Reads the published material of a partner now.
 */
async function pull(call: OperatorCall, parts: PartnersState): Promise<PartnerPull> {
  readForm(partners.pull.body, call.body)
  const row = await requirePartner(parts.database.read, call)
  const wait = (readInstant(row.asked_at ?? '') ?? 0n) + ONE_IN - parts.clock.now()
  if (wait > 0n && wait <= ONE_IN)
    throw new Refusal('rate_limit_exceeded', {}, { retryAfterSeconds: Number(wait / SECOND) + 1 })
  const claimed = await claim(parts, row.sovereign_id, true)
  if (claimed === undefined) throw new Refusal('pull_in_progress')
  const finished = await performPull(parts, claimed, AbortSignal.timeout(LONGEST_MS))
  if (finished === undefined) throw new Refusal('pull_in_progress')
  return { outcome: finished.outcome, changed: finished.changed, partner: await showPartner(parts, finished.row) }
}

/**
 * POST /admin/partners/{sovereign_id}/repin
 * Pins other keys. What was read under the former ones is removed; imported revocations stay.
 */
async function repin(call: OperatorCall, parts: PartnersState): Promise<Partner> {
  const { sovereign_id, url } = await requirePartner(parts.database.read, call)
  const { reason, ...pins } = readForm(partners.repin.body, call.body)
  const pin = await checkPin({ root_public_key: undefined, authority_public_keys: undefined, ...pins })
  const { genesis, metadata_mismatch } = await introduce(parts, url, pin, sovereign_id)
  return parts.database.write(async (tx) => {
    await tx.lock('partners')
    const row = await requirePartner(tx.query, call)
    const changes = {
      pin_json: JSON.stringify(pin),
      stored_json: writeFacts({ ...NO_FACTS, genesis, metadata_mismatch }),
      treaties_as_of: null,
      last_good_pull_at: null,
      // A running pull checked with the former keys.
      pull_token: null,
      pull_until: null,
    }
    await deleteMaterial(tx, sovereign_id)
    await updatePartner(tx, sovereign_id, changes)
    await tx.raiseVersion('partners')
    const details = { sovereign_id, pin_kind: pin.kind, reason, ...requestDetails(call) }
    await parts.audit.record(tx, { type: 'partner_repinned', details })
    return showPartner(parts, { ...row, ...changes }, tx.query)
  })
}

/**
 * GET /admin/partners/{sovereign_id}/treaties
 * Returns the treaties that a partner reports as active. They decide nothing here.
 */
async function treaties(call: OperatorCall, parts: PartnersState): Promise<HttpResponse> {
  const page = readPage(call.query)
  const { sovereign_id, treaties_as_of } = await requirePartner(parts.database.read, call)
  const { limit, after } = page
  const { rows, last } = await readRows(reportedList(parts.database.read, sovereign_id), { limit, after })
  const as_of = writeJson(toWireTime(treaties_as_of))
  const texts = rows.map(({ treaty_json }) => `{"treaty":${treaty_json},"as_of":${as_of}}`)
  const isPaged = page.asked || last !== undefined
  const paging = isPaged ? { next_cursor: last === undefined ? null : writeCursor(last) } : {}
  return listResponse('treaties', texts, paging)
}

/** Keys that may sign a record of this date. Without pulls nothing shows that a key still counts. */
async function findAcceptedKeys(
  { database, settings }: PartnersState,
  sovereign_id: string,
  date: Instant,
): Promise<readonly string[]> {
  if (!settings.partners) return []
  const row = await findPartner(database.read, sovereign_id)
  if (row === undefined) return []
  return keysAt(acceptedKeys(JSON.parse(row.pin_json) as Pin, readFacts(row.stored_json)), date)
}

/**
 * POST /admin/partners/{sovereign_id}
 * Changes the members that were sent.
 */
async function update(call: OperatorCall, parts: PartnersState): Promise<Partner> {
  return parts.database.write(async (tx) => {
    await tx.lock('partners')
    const row = await requirePartner(tx.query, call)
    const columns = columnsOf(readUpdateRequest(call.body, choicesOf(row), parts.settings))
    const isRescheduled = columns.interval_seconds !== row.interval_seconds || columns.paused !== row.paused
    const changes: Partial<PartnerRow> = {
      ...columns,
      ...(isRescheduled
        ? { next_pull_at: writeSortable(nextPull(columns.interval_seconds, 0, parts.clock.now())) }
        : {}),
      // A pull from the old address must not be stored.
      ...(columns.url === row.url ? {} : { pull_token: null, pull_until: null }),
    }
    await updatePartner(tx, row.sovereign_id, changes)
    const fields = Object.keys(call.body).toSorted()
    const details = { sovereign_id: row.sovereign_id, fields, ...requestDetails(call) }
    await parts.audit.record(tx, { type: 'partner_changed', details })
    return showPartner(parts, { ...row, ...changes }, tx.query)
  })
}

export interface PartnerFreshness {
  /** How old the feed may be in decisions. Null: as the setting says. */
  readonly max_feed_age_seconds: number | null
  /** The last good pull that also imports the feed. Null: there was none. */
  readonly contact_at: string | null
}

export interface Partners extends Feature {
  /** Keys that may sign a record of this date. None for a sovereign that is no partner. */
  acceptedKeys(sovereign_id: string, date: Instant): Promise<readonly string[]>
  freshness(sovereign_id: string): Promise<PartnerFreshness>
}

/** Other sovereigns whose published material is read (protocol/partners). */
export function openPartners(given: PartnersParts): Partners {
  const checks = new MaterialChecks()
  const freshness = new BatchedRead(
    (ids) => given.database.run(READ_FRESHNESS, ids),
    (row) => row.sovereign_id,
  )
  const parts: PartnersState = { ...given, checks }
  const own =
    <Value>(handle: (call: OperatorCall, parts: PartnersState) => Promise<Value>) =>
    (call: OperatorCall): Promise<Value> =>
      handle(call, parts)
  return {
    routes: [
      bind(partners.add, own(add)),
      bind(partners.list, own(list)),
      bind(partners.find, own(find)),
      bind(partners.update, own(update)),
      bind(partners.pull, own(pull)),
      bind(partners.repin, own(repin)),
      bind(partners.clearAlarm, own(clearAlarm)),
      bind(partners.remove, own(remove)),
      bind(partners.treaties, own(treaties)),
    ],
    jobs: [{ name: 'partner-pull', everySeconds: 5, run: (signal) => pullDue(parts, signal) }],
    acceptedKeys: (sovereign_id, date) => findAcceptedKeys(parts, sovereign_id, date),
    freshness: async (sovereign_id) =>
      (await freshness.find(sovereign_id)) ?? { max_feed_age_seconds: null, contact_at: null },
    async close() {
      await freshness.close()
      await checks.close()
    },
  }
}
