import { Refusal } from '@chancery/contract'
import { type FeedIndex, MAX_FEED_IDS, asJson, digestOf } from '@chancery/protocol'
import { UnknownOutcomeError } from '../../database/errors.ts'
import { translateDatabaseError } from '../../database/open.ts'
import type { IsCurrent, PartnerFeed } from '../revocation-feeds/index.ts'
import type { CheckedFeed, KnownFeed } from './check-feed.ts'
import { type Findings, LIST_BYTES, type NewAlarm, type Pull } from './alarms.ts'
import { StepFailureError, type StoredFeed } from './stored-facts.ts'
import { mayImport } from './queries/partners.ts'

interface Numbered {
  readonly sequence: number
  readonly digest: string
}

/** Two contents with one number, or a number below the highest: the stored content stays. */
export type SequenceResult = 'rollback' | 'equivocation' | 'same' | 'newer'

/**
 * Compares a document with the stored one and the highest sequence. The second rollback in a row raises an alarm. The
 * digests cover the content that counts: ids, or entries.
 */
export function checkSequence(
  findings: Findings,
  material: 'feed' | 'crl',
  offered: Numbered & { readonly content: string; readonly text: string | null },
  stored: (Numbered & { readonly content: string | null }) | undefined,
  highest: number,
): SequenceResult {
  const alarm = (kind: NewAlarm['kind']): void => {
    findings.alarms.push({
      kind,
      material,
      sequence: offered.sequence,
      held_digest: stored?.digest ?? null,
      offered_digest: offered.digest,
      offered_text: offered.text,
    })
  }
  findings.offered.set(material, offered.text)
  const { rollbacks } = findings.facts
  const isLower = offered.sequence < Math.max(highest, stored?.content === null ? 0 : (stored?.sequence ?? 0))
  const count = isLower ? rollbacks[material] + 1 : 0
  findings.facts = { ...findings.facts, rollbacks: { ...rollbacks, [material]: count } }
  if (isLower) {
    if (count > 1) alarm('rollback')
    return 'rollback'
  }
  if (stored === undefined || stored.content === null || stored.sequence !== offered.sequence) return 'newer'
  if (stored.content === offered.content) return 'same'
  alarm('equivocation')
  return 'equivocation'
}

/** The partner shows what is stored: rollbacks before it are not in a row with later ones. */
export function noteUnchanged(findings: Findings, material: 'feed' | 'crl'): void {
  const { facts } = findings
  findings.facts = { ...facts, rollbacks: { ...facts.rollbacks, [material]: 0 } }
  findings.outcomes.push('unchanged')
}

const INDEX_BYTES = 1_048_576
const PART_BYTES = 4_194_304
const MAX_INDEX_READS = 3

/** Step 4: the revocation feed, and its parts when the plain form cannot contain all ids. */
export async function readFeedStep(pull: Pull): Promise<void> {
  const { findings } = pull
  try {
    await readFeed(pull)
    findings.facts = { ...findings.facts, feed_too_large: false }
  } catch (error) {
    if (error instanceof StepFailureError && error.outcome === 'too_large')
      findings.facts = { ...findings.facts, feed_too_large: true }
    throw error
  }
}

async function readFeed(pull: Pull): Promise<void> {
  const { parts, sovereign_id, read, keys, seen, findings, isImporting } = pull
  const { feed: stored } = findings.facts
  const isUpToDate = !isImporting || (stored?.complete === true && stored.imported === true)
  const etag = isUpToDate ? stored?.etag : undefined
  const found = await read({ path: '/sovereign-revocation-feed', maxBytes: LIST_BYTES, etag })
  if (found.status === 304) return noteUnchanged(findings, 'feed')
  const importKeys = isImporting ? await parts.recognitionTreaties.pinnedKeys(sovereign_id) : []
  const importing = isImporting ? { keys: importKeys, known: knownOf(stored) } : undefined
  const offered = await parts.checks.run('feed', { blocks: found.blocks, sovereign_id, keys, importing })
  const { facts, text, imported } = offered
  const result = checkSequence(
    findings,
    'feed',
    { ...facts, content: facts.ids_digest, text },
    stored && { ...stored, content: stored.ids_digest },
    seen.get('feed') ?? 0,
  )
  if (result === 'equivocation' && imported !== null)
    await importFrom(pull, facts, (isCurrent) => parts.revocationFeeds.addIds(imported, isCurrent))
  if (result === 'rollback' || result === 'equivocation') throw new StepFailureError(result)
  // Ids first: the partner shows this feed as read only when they are imported.
  const isSmall = facts.ids < MAX_FEED_IDS
  if (imported !== null && !isSmall) pull.allowParts()
  if (imported !== null) await importPlain(pull, facts, imported)
  if (stored?.digest !== facts.digest) findings.changed.push('feed')
  const tag = found.etag === undefined ? {} : { etag: found.etag }
  const mark = imported === null ? {} : { imported: true as const }
  findings.facts = { ...findings.facts, feed: { ...facts, ...tag, ...mark, complete: isSmall } }
  findings.sequences.set('feed', facts.sequence)
  findings.texts.set('feed', text)
  if (imported !== null && !isSmall) await importRest(pull, facts, importKeys)
  findings.outcomes.push('ok')
}

/** Null unless all ids of the stored feed are imported. */
function knownOf(stored: StoredFeed | undefined): KnownFeed | null {
  if (stored?.imported !== true) return null
  const { sequence, issued_at, ids_digest } = stored
  return { sequence, issued_at, ids_digest }
}

async function importPlain(pull: Pull, facts: CheckedFeed['facts'], feed: PartnerFeed): Promise<void> {
  const { revocationFeeds } = pull.parts
  const done = await importFrom(pull, facts, (isCurrent) => revocationFeeds.importFeed(feed, isCurrent))
  if (done === 'sequence_jump') refuseJump(pull, facts)
}

/** Ids that the plain feed has no room for. */
async function importRest(pull: Pull, facts: CheckedFeed['facts'], importKeys: readonly string[]): Promise<void> {
  const { findings } = pull
  const complete = await importParts(pull, facts, importKeys)
  const { feed } = findings.facts
  if (feed !== undefined) findings.facts = { ...findings.facts, feed: { ...feed, complete } }
}

/** Reads the parts that changed. A part that does not match: the index may be newer, so it is read again. */
async function importParts(pull: Pull, facts: CheckedFeed['facts'], importKeys: readonly string[]): Promise<boolean> {
  const { parts, sovereign_id, read, keys } = pull
  const { revocationFeeds } = parts
  for (let reads = 0; reads < MAX_INDEX_READS; reads += 1) {
    const found = await read({ path: '/sovereign-revocation-feed/index', maxBytes: INDEX_BYTES, mayLack: true })
    if (found.status === 404) {
      await importFrom(pull, facts, (isCurrent) =>
        revocationFeeds.completeWithoutIndex(sovereign_id, facts.sequence, isCurrent),
      )
      return true
    }
    const index = await parts.checks.run('index', { blocks: found.blocks, sovereign_id, keys, importKeys })
    if (index.sequence < facts.sequence) continue
    if (!(await areAllImported(pull, index))) continue
    const named = nameIndex(index)
    const done = await importFrom(pull, named, (isCurrent) => revocationFeeds.concludeIndex(index, isCurrent))
    if (done === 'sequence_jump') return refuseJump(pull, named)
    return done.complete
  }
  throw new StepFailureError('malformed')
}

async function areAllImported(pull: Pull, index: FeedIndex): Promise<boolean> {
  const { parts, sovereign_id, read } = pull
  const named = nameIndex(index)
  const stored = await parts.revocationFeeds.listStoredParts(sovereign_id, index.part_bits)
  for (const { part, digest } of index.parts) {
    if (stored.get(part) === digest) continue
    const { blocks } = await read({ path: `/sovereign-revocation-feed/parts/${part}`, maxBytes: PART_BYTES })
    const found = await parts.checks.run('part', { blocks, index, part }).catch((error: unknown) => {
      if (error instanceof StepFailureError && error.outcome === 'malformed') return undefined
      throw error
    })
    if (found === undefined) return false
    const problem = await importFrom(pull, named, (isCurrent) =>
      parts.revocationFeeds.importPart(index, found, isCurrent),
    )
    if (problem !== undefined) refuseJump(pull, named)
  }
  return true
}

/** What an alarm names: a feed, or its index. */
interface Named {
  readonly sequence: number
  readonly digest: string
}

function nameIndex(index: FeedIndex): Named {
  const { signatures: _signatures, ...signed } = index
  return { sequence: index.sequence, digest: digestOf(asJson(signed)) }
}

function alarmOf(kind: NewAlarm['kind'], { sequence, digest }: Named): NewAlarm {
  return { kind, material: 'feed', sequence, held_digest: null, offered_digest: digest, offered_text: null }
}

function refuseJump({ findings }: Pull, named: Named): never {
  findings.alarms.push(alarmOf('sequence_jump', named))
  throw new StepFailureError('malformed')
}

/**
 * Imports while this pull counts. Too many ids are an alarm: nothing of the feed is left out silently. A store that
 * does not answer in time fails this step only.
 */
async function importFrom<Value>(
  { findings, parts, sovereign_id, token }: Pull,
  named: Named,
  run: (isCurrent: IsCurrent) => Promise<Value>,
): Promise<Value> {
  try {
    const value = await run((tx) => mayImport(tx, sovereign_id, token))
    parts.metrics.partnerFeedImports.with({ outcome: 'ok' }).increase()
    return value
  } catch (error) {
    parts.metrics.partnerFeedImports.with({ outcome: 'failed' }).increase()
    const isFull = error instanceof Refusal && error.code === 'import_capacity'
    if (isFull) findings.alarms.push(alarmOf('import_capacity', named))
    const isOfStore = error instanceof UnknownOutcomeError || translateDatabaseError(error) !== undefined
    if (isFull || isOfStore) throw new StepFailureError('store_failed')
    throw error
  }
}
