import { Refusal } from '@chancery/contract'
import { MAX_FEED_IDS } from '@chancery/protocol'
import type { FeedIndex } from '@chancery/protocol'
import type { CheckedFeed } from './check-material.ts'
import type { NewAlarm } from './findings.ts'
import { LIST_BYTES } from './pull-context.ts'
import { StepFailure } from './step-failure.ts'
import type { Pull } from './pull-context.ts'
import { checkSequence } from './sequence-check.ts'

const INDEX_BYTES = 1_048_576
const PART_BYTES = 4_194_304
const MAX_INDEX_READS = 3
/** A sequence that is this far above the imported one is not imported (protocol/core 18.3). */
const MAX_JUMP = 1_000_000

/** Step 4: the revocation feed, and its parts when the plain form cannot contain all ids. */
export async function readFeedStep(pull: Pull): Promise<void> {
  const { parts, sovereign_id, read, keys, seen, findings, isImporting } = pull
  const { feed: stored } = findings.facts
  const importedSequence = (await parts.revocationFeeds.findImported(sovereign_id))?.sequence
  const isUpToDate = !isImporting || (stored?.complete === true && importedSequence === stored.sequence)
  const etag = isUpToDate ? stored?.etag : undefined
  const found = await read({ path: '/sovereign-revocation-feed', maxBytes: LIST_BYTES, etag })
  if (found.status === 304) return void findings.outcomes.push('unchanged')
  const importKeys = isImporting ? await parts.recognitionTreaties.pinnedKeys(sovereign_id) : []
  const offered = await parts.checks.run('feed', { blocks: found.blocks, sovereign_id, keys, importKeys })
  const { facts, text } = offered
  const result = checkSequence(
    findings,
    'feed',
    { ...facts, content: facts.ids_digest, text },
    stored && { ...stored, content: stored.ids_digest },
    seen.get('feed') ?? 0,
  )
  if (result === 'equivocation' && isImporting)
    await importing(pull, facts, () => parts.revocationFeeds.addIds(offered.feed))
  if (result === 'rollback' || result === 'equivocation') throw new StepFailure(result)
  if (isImporting && facts.sequence - (importedSequence ?? 0) > MAX_JUMP) {
    findings.alarms.push(alarmOf('sequence_jump', facts))
    throw new StepFailure('malformed')
  }
  if (stored?.digest !== facts.digest) findings.changed.push('feed')
  const tag = found.etag === undefined ? {} : { etag: found.etag }
  const isSmall = facts.ids < MAX_FEED_IDS
  findings.facts = { ...findings.facts, feed: { ...facts, ...tag, complete: isSmall } }
  findings.sequences.set('feed', facts.sequence)
  findings.texts.set('feed', text)
  if (isImporting) await importFeed(pull, offered, importKeys, isSmall)
  findings.outcomes.push('ok')
}

function alarmOf(kind: NewAlarm['kind'], facts: CheckedFeed['facts']): NewAlarm {
  return {
    kind,
    material: 'feed',
    sequence: facts.sequence,
    held_digest: null,
    offered_digest: facts.digest,
    offered_text: null,
  }
}

async function importFeed(
  pull: Pull,
  { feed, facts }: CheckedFeed,
  importKeys: readonly string[],
  isSmall: boolean,
): Promise<void> {
  const { parts, findings } = pull
  await importing(pull, facts, () => parts.revocationFeeds.importFeed(feed))
  if (isSmall) return
  pull.allowParts()
  const isComplete = await importParts(pull, facts, importKeys)
  const { feed: accepted } = findings.facts
  if (accepted !== undefined && isComplete)
    findings.facts = { ...findings.facts, feed: { ...accepted, complete: true } }
}

/** Reads the parts that changed. A part that does not match: the index may be newer, so it is read again. */
async function importParts(pull: Pull, facts: CheckedFeed['facts'], importKeys: readonly string[]): Promise<boolean> {
  const { parts, sovereign_id, read, keys } = pull
  for (let reads = 0; reads < MAX_INDEX_READS; reads += 1) {
    const found = await read({ path: '/sovereign-revocation-feed/index', maxBytes: INDEX_BYTES, mayLack: true })
    if (found.status === 404) return parts.revocationFeeds.completeWithoutIndex(sovereign_id, facts.sequence)
    const index = await parts.checks.run('index', { blocks: found.blocks, sovereign_id, keys, importKeys })
    if (index.sequence < facts.sequence) continue
    if (!(await areAllImported(pull, index, facts))) continue
    return importing(pull, facts, () => parts.revocationFeeds.concludeIndex(index))
  }
  throw new StepFailure('malformed')
}

async function areAllImported(pull: Pull, index: FeedIndex, facts: CheckedFeed['facts']): Promise<boolean> {
  const { parts, sovereign_id, read } = pull
  const stored = await parts.revocationFeeds.listStoredParts(sovereign_id, index.part_bits)
  for (const { part, digest } of index.parts) {
    if (stored.get(part) === digest) continue
    const { blocks } = await read({ path: `/sovereign-revocation-feed/parts/${part}`, maxBytes: PART_BYTES })
    const found = await parts.checks.run('part', { blocks, index, part }).catch((error: unknown) => {
      if (error instanceof StepFailure && error.outcome === 'malformed') return undefined
      throw error
    })
    if (found === undefined) return false
    await importing(pull, facts, () => parts.revocationFeeds.importPart(index, found))
  }
  return true
}

/** Too many ids are an alarm: nothing of the feed is left out silently. */
async function importing<Value>(
  { findings, parts }: Pull,
  facts: CheckedFeed['facts'],
  run: () => Promise<Value>,
): Promise<Value> {
  try {
    const value = await run()
    parts.metrics.partnerFeedImports.with({ outcome: 'ok' }).increase()
    return value
  } catch (error) {
    parts.metrics.partnerFeedImports.with({ outcome: 'failed' }).increase()
    if (!(error instanceof Refusal) || error.code !== 'import_capacity') throw error
    findings.alarms.push(alarmOf('import_capacity', facts))
    throw new StepFailure('store_failed')
  }
}
