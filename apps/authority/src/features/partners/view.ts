import { type ListedPartner, type Partner, Refusal } from '@chancery/contract'
import type { Instant } from '@chancery/protocol'
import type { Reader } from '../../database/database.ts'
import { toWireTime } from '../../requests/list-position.ts'
import { type PartnersState, SHOWN_ALARMS } from './alarms.ts'
import { reasonsOf, stateOf } from './partner-state.ts'
import { type Pin, type StoredFacts, readFacts } from './stored-facts.ts'
import { listAlarms } from './queries/alarms.ts'
import { type OwnTreaty, type PartnerRow, findPartner, listOwnTreaties } from './queries/partners.ts'
import type { Choices } from './requests.ts'
import type { OperatorCall } from '../../auth/operator.ts'

/** A partner as its own route shows it, with keys and alarms. */
export async function showPartner(parts: PartnersState, row: PartnerRow, db?: Reader): Promise<Partner> {
  const reader = db ?? parts.database.read
  const now = parts.clock.now()
  const treaties = await listOwnTreaties(reader, parts.network.name, now, row.sovereign_id)
  const imported = await parts.revocationFeeds.findImported(row.sovereign_id, reader)
  const alarms = await listAlarms(reader, row.sovereign_id, SHOWN_ALARMS)
  const pin = JSON.parse(row.pin_json) as Pin
  return {
    ...listedPartner(row, treaties, imported?.sequence ?? null, now),
    authority_keys: listKeys(pin, readFacts(row.stored_json)),
    alarms: alarms.map((alarm) => ({
      ...alarm,
      sequence: alarm.sequence === null ? null : Number(alarm.sequence),
      raised_at: toWireTime(alarm.raised_at),
      cleared_at: toWireTime(alarm.cleared_at),
    })),
  }
}

/** A partner in a list, without keys and alarms. */
// oxlint-disable-next-line max-lines-per-function -- one statement per member
export function listedPartner(
  row: PartnerRow,
  treaties: readonly OwnTreaty[],
  imported: number | null,
  now: Instant,
): ListedPartner {
  const pin = JSON.parse(row.pin_json) as Pin
  const facts = readFacts(row.stored_json)
  const { genesis, feed, crl } = facts
  return {
    sovereign_id: row.sovereign_id,
    pin,
    ...choicesOf(row),
    state: stateOf(row, now),
    reasons: reasonsOf(row, pin, facts, treaties, now),
    genesis:
      genesis === undefined
        ? null
        : {
            digest: genesis.digest,
            root_public_key: genesis.root_public_key,
            valid_to: genesis.valid_to,
            pinned: genesis.pinned,
          },
    feed:
      feed === undefined
        ? null
        : {
            sequence: feed.sequence,
            issued_at: feed.issued_at,
            ids: feed.ids,
            digest: feed.digest,
            imported_sequence: imported,
            complete: feed.complete,
          },
    crl:
      crl === undefined
        ? null
        : {
            sequence: crl.sequence,
            issued_at: crl.issued_at,
            next_update: crl.next_update,
            entries: crl.entries,
            digest: crl.digest,
          },
    treaties:
      facts.treaties === undefined
        ? null
        : {
            active: facts.treaties.active,
            refused: facts.treaties.refused,
            truncated: facts.treaties.truncated,
            as_of: toWireTime(row.treaties_as_of),
          },
    last_pull:
      row.last_pull_at === null
        ? null
        : {
            at: toWireTime(row.last_pull_at),
            outcome: row.last_outcome ?? 'ok',
            duration_ms: Number(row.last_duration_ms ?? 0),
          },
    last_good_pull_at: toWireTime(row.last_good_pull_at),
    next_pull_at: toWireTime(row.next_pull_at),
    failures: row.failures,
    added_at: toWireTime(row.added_at),
    added_by: row.added_by,
  }
}

/** The current key first. A pinned key without a genesis block has no known window. */
function listKeys(pin: Pin, { genesis, former_keys }: StoredFacts): Partner['authority_keys'] {
  const current = genesis && {
    public_key: genesis.public_key,
    key_id: null,
    valid_from: genesis.valid_from,
    valid_to: genesis.valid_to,
    current: true,
  }
  if (pin.kind === 'root')
    return [...(current === undefined ? [] : [current]), ...former_keys.map((key) => ({ ...key, current: false }))]
  return pin.authority_public_keys.map((public_key) =>
    current?.public_key === public_key
      ? current
      : { public_key, key_id: null, valid_from: null, valid_to: null, current: false },
  )
}

/** What an operator chose. */
export function choicesOf(row: PartnerRow): Choices {
  return {
    url: row.url,
    import_feeds: row.import_feeds === 1 ? 'on' : 'off',
    interval_seconds: row.interval_seconds,
    max_feed_age_seconds: row.max_feed_age_seconds,
    allow_http: row.allow_http === 1,
    paused: row.paused === 1,
    label: row.label,
  }
}

/**
 * GET /admin/partners/{sovereign_id}
 * Returns one partner with its state, keys and alarms.
 */
export async function find(call: OperatorCall, parts: PartnersState): Promise<Partner> {
  return showPartner(parts, await requirePartner(parts.database.read, call))
}

export async function requirePartner(db: Reader, call: OperatorCall): Promise<PartnerRow> {
  const row = await findPartner(db, call.params['sovereign_id'] ?? '')
  if (row === undefined) throw new Refusal('partner_not_found')
  return row
}
