import { Refusal } from '@chancery/contract'
import { writeJson, writeSortable } from '@chancery/protocol'
import { type HttpResponse, jsonText } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { peekStoredResponse, readAttempt, respondOnce } from '../../requests/idempotency.ts'
import { countRows } from '../../database/database.ts'
import { type PartnerRow, findPartner, insertPartner } from './queries/partners.ts'
import { type AddRequest, readAddRequest } from './requests.ts'
import type { PartnersState } from './alarms.ts'
import { NO_FACTS, StepFailureError, writeFacts } from './stored-facts.ts'
import type { Pin, StoredFacts, StoredGenesis } from './stored-facts.ts'
import { nextPull } from './store-pull.ts'
import { showPartner } from './view.ts'
import { readFrom } from './read-document.ts'
import { readGenesis, readMetadata } from './run-pull.ts'

const INTRODUCTION_MS = 10_000

export interface Introduced {
  readonly network_name: string
  readonly genesis: StoredGenesis
  readonly metadata_mismatch: boolean
}

/** Reads genesis block and metadata of a partner that is added or pinned again. */
export async function introduce(
  parts: PartnersState,
  url: string,
  pin: Pin,
  sovereign_id: string | undefined,
): Promise<Introduced> {
  const signal = AbortSignal.timeout(INTRODUCTION_MS)
  const read = readFrom(parts, url, signal)
  const checking = { ...parts, checks: parts.checks.until(url, signal) }
  try {
    const { block, facts } = await readGenesis(checking, read, pin, sovereign_id)
    if (block.network_name === parts.network.name) throw new Refusal('partner_mismatch', { reason: 'own_sovereign' })
    const { isSame } = await readMetadata(checking, read, block)
    if (!isSame) throw new Refusal('partner_mismatch', { reason: 'metadata' })
    return { network_name: block.network_name, genesis: facts, metadata_mismatch: !isSame }
  } catch (error) {
    if (!(error instanceof StepFailureError)) throw error
    const isOther = error.outcome === 'unauthentic' || error.outcome === 'mismatch'
    throw new Refusal(isOther ? 'partner_mismatch' : 'partner_unreachable', { reason: error.outcome })
  }
}

/**
 * POST /admin/partners
 * Registers another sovereign whose published material is read. It recognises no members.
 */
export async function add(call: OperatorCall, parts: PartnersState): Promise<HttpResponse> {
  const request = await readAddRequest(call.body, parts.settings)
  const attempt = readAttempt(call, parts.clock.now())
  const before = attempt && (await peekStoredResponse(parts.database.read, attempt, writeSortable(parts.clock.now())))
  if (before !== undefined) return jsonText(before.text, before.status)
  await refuseTaken(parts, request.sovereign_id)
  const { sovereign_id, facts } = await readIdentity(parts, request)
  return parts.database.write(async (tx) => {
    await tx.lock('partners')
    const now = parts.clock.now()
    return respondOnce(tx, attempt, writeSortable(now), async () => {
      if ((await findPartner(tx.query, sovereign_id)) !== undefined)
        throw new Refusal('partner_exists', { sovereign_id })
      if ((await countRows(tx.query, 'partners')) >= parts.settings.partnersMax) throw new Refusal('partner_limit')
      const row: PartnerRow = {
        ...columnsOf(request),
        sovereign_id,
        pin_json: JSON.stringify(request.pin),
        added_at: writeSortable(now),
        added_by: call.operator.key_id,
        open_alarms: 0,
        last_pull_at: null,
        last_outcome: null,
        last_duration_ms: null,
        last_good_pull_at: null,
        next_pull_at: writeSortable(nextPull(request.interval_seconds, 0, now)),
        failures: 0,
        pull_token: null,
        pull_until: null,
        asked_at: null,
        treaties_as_of: null,
        stored_json: writeFacts(facts),
      }
      await insertPartner(tx, row)
      await tx.raiseVersion('partners')
      const details = {
        sovereign_id,
        pin_kind: request.pin.kind,
        import_feeds: request.import_feeds === 'on',
        interval_seconds: request.interval_seconds,
        allow_http: request.allow_http,
        ...requestDetails(call),
      }
      await parts.audit.record(tx, { type: 'partner_added', details })
      const text = writeJson(await showPartner(parts, row, tx.query))
      return { status: 201, text }
    })
  })
}

/** Checked before anything is read, and again with the lock. */
async function refuseTaken(parts: PartnersState, sovereign_id: string | undefined): Promise<void> {
  if (sovereign_id === parts.network.name) throw new Refusal('partner_mismatch', { reason: 'own_sovereign' })
  if (sovereign_id !== undefined && (await findPartner(parts.database.read, sovereign_id)) !== undefined)
    throw new Refusal('partner_exists', { sovereign_id })
  if ((await countRows(parts.database.read, 'partners')) >= parts.settings.partnersMax)
    throw new Refusal('partner_limit')
}

async function readIdentity(
  parts: PartnersState,
  { defer, sovereign_id, url, pin }: AddRequest,
): Promise<{ readonly sovereign_id: string; readonly facts: StoredFacts }> {
  if (defer && sovereign_id !== undefined) return { sovereign_id, facts: NO_FACTS }
  const { genesis, metadata_mismatch, network_name } = await introduce(parts, url, pin, sovereign_id)
  return { sovereign_id: network_name, facts: { ...NO_FACTS, genesis, metadata_mismatch } }
}

export function columnsOf(
  choices: Omit<AddRequest, 'pin' | 'defer' | 'sovereign_id'>,
): Pick<
  PartnerRow,
  'url' | 'import_feeds' | 'interval_seconds' | 'max_feed_age_seconds' | 'allow_http' | 'paused' | 'label'
> {
  return {
    url: choices.url,
    import_feeds: choices.import_feeds === 'on' ? 1 : 0,
    interval_seconds: choices.interval_seconds,
    max_feed_age_seconds: choices.max_feed_age_seconds,
    allow_http: choices.allow_http ? 1 : 0,
    paused: choices.paused ? 1 : 0,
    label: choices.label,
  }
}
