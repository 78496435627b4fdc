import { type GenesisBlock, type Instant, SECOND, instantOf } from '@chancery/protocol'
import type { CheckedGenesis, CheckedHistory, CheckedMetadata } from './check-material.ts'
import { type Findings, LIST_BYTES, type PartnersState, type Pull, type PullingParts, SMALL_BYTES } from './alarms.ts'
import { type Pin, StepFailureError, type StoredFacts, acceptedKeys, readFacts } from './stored-facts.ts'
import { type ReadFrom, readFrom } from './read-document.ts'
import { checkSequence, noteUnchanged, readFeedStep } from './read-feed.ts'
import { readTreatiesStep } from './read-treaties.ts'
import type { PartnerRow } from './queries/partners.ts'

const NONE: CheckedHistory = { former_keys: [], isAuthentic: true, digest: null, text: null }

/**
 * Step 2: a history that the root did not sign, or that no longer lists a former key, is an alarm. The stored keys then
 * stay.
 */
async function readHistoryStep(
  parts: PullingParts,
  findings: Findings,
  read: ReadFrom,
  genesis: GenesisBlock,
): Promise<void> {
  const { status, blocks } = await read({ path: '/key-history', maxBytes: SMALL_BYTES, mayLack: true })
  const offered = status === 404 ? NONE : await parts.checks.run('history', { blocks, genesis })
  const { former_keys: before, history_digest } = findings.facts
  const listed = new Set(offered.former_keys.map((key) => key.public_key))
  if (!offered.isAuthentic || !before.every((key) => listed.has(key.public_key))) {
    findings.alarms.push({
      kind: 'key_history_changed',
      material: 'key_history',
      sequence: null,
      held_digest: history_digest ?? null,
      offered_digest: offered.digest,
      offered_text: offered.text,
    })
    throw new StepFailureError('unauthentic')
  }
  if (JSON.stringify(offered.former_keys) !== JSON.stringify(before)) findings.changed.push('key_history')
  findings.facts = { ...findings.facts, former_keys: offered.former_keys, history_digest: offered.digest }
  findings.texts.set('key_history', offered.text)
}

/** Step 5: the revocation list of certificates. */
async function readCrlStep({ parts, sovereign_id, read, keys, seen, findings }: Pull): Promise<void> {
  const { crl: stored } = findings.facts
  const { status, blocks, etag } = await read({ path: '/crl', maxBytes: LIST_BYTES, etag: stored?.etag })
  if (status === 304) return noteUnchanged(findings, 'crl')
  const { facts, text } = await parts.checks.run('crl', { blocks, sovereign_id, keys })
  const result = checkSequence(
    findings,
    'crl',
    { ...facts, content: facts.entries_digest, text },
    stored && { ...stored, content: stored.entries_digest },
    seen.get('crl') ?? 0,
  )
  if (result === 'rollback' || result === 'equivocation') throw new StepFailureError(result)
  if (stored?.digest !== facts.digest) findings.changed.push('crl')
  findings.outcomes.push('ok')
  findings.facts = { ...findings.facts, crl: { ...facts, ...(etag === undefined ? {} : { etag }) } }
  findings.sequences.set('crl', facts.sequence)
  findings.texts.set('crl', text)
}

/**
 * Whether the partner announces its next key, so that treaties can name it before it signs. It decides nothing: the key
 * counts when it is in the genesis block. So a document that cannot be read leaves what is known, and fails no pull.
 */
async function readSuccessionStep(
  parts: PullingParts,
  findings: Findings,
  read: ReadFrom,
  { genesis, announcesKey }: { readonly genesis: GenesisBlock; readonly announcesKey: boolean },
): Promise<void> {
  const { succession: stored, ...facts } = findings.facts
  if (!announcesKey) {
    findings.facts = facts
    return
  }
  // The announced key may be in force by now, and the document the same.
  const isKnown = stored !== undefined && stored.announced?.public_key !== genesis.network_authority.public_key
  const etag = isKnown ? stored.etag : undefined
  try {
    const found = await read({ path: '/key-succession', maxBytes: LIST_BYTES, mayLack: true, etag })
    if (found.status === 304) return
    if (found.status === 404) {
      findings.facts = facts
      return
    }
    const announced = await parts.checks.run('succession', { blocks: found.blocks, genesis })
    const tag = found.etag === undefined ? {} : { etag: found.etag }
    findings.facts = { ...facts, succession: { announced, ...tag } }
    if (announced?.public_key !== stored?.announced?.public_key) findings.changed.push('key_succession')
  } catch (error) {
    if (!(error instanceof StepFailureError)) throw error
  }
}

const PULL_MS = 60_000
const PARTS_MS = 300_000
/** A clock of a partner that is this far off is reported. */
const CLOCK_OFFSET: Instant = 300n * SECOND

/** Steps 1 to 6 of protocol/partners 4. The first step decides whether the others are made. */
export async function runPull(
  given: PartnersState,
  row: PartnerRow,
  seen: ReadonlyMap<string, number>,
  stop: AbortSignal,
): Promise<Findings> {
  const pin = JSON.parse(row.pin_json) as Pin
  const stored = readFacts(row.stored_json)
  const findings: Findings = {
    facts: { ...stored, metadata_mismatch: false },
    outcomes: [],
    changed: [],
    alarms: [],
    texts: new Map(),
    offered: new Map(),
    sequences: new Map(),
    keyChanged: false,
    treaties: undefined,
  }
  const ending = new AbortController()
  let timer = setTimeout(() => ending.abort(), PULL_MS)
  const signal = AbortSignal.any([ending.signal, stop])
  const parts: PullingParts = { ...given, checks: given.checks.until(row.sovereign_id, signal) }
  const started = parts.clock.monotonicMs()
  const allowParts = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => ending.abort(), Math.max(0, PARTS_MS - (parts.clock.monotonicMs() - started)))
  }
  const read = readFrom(parts, row.url, signal)
  try {
    const genesis = await step(findings, () => readGenesisStep(parts, findings, read, pin, row.sovereign_id))
    if (genesis === undefined) return findings
    // With pinned keys exactly those count, and no root signs for others.
    if (pin.kind === 'root') await step(findings, () => readHistoryStep(parts, findings, read, genesis))
    const announcesKey = await readMetadataStep(parts, findings, read, genesis)
    if (announcesKey !== undefined) await readSuccessionStep(parts, findings, read, { genesis, announcesKey })
    const pull: Pull = {
      parts,
      sovereign_id: row.sovereign_id,
      isImporting: row.import_feeds === 1,
      token: row.pull_token ?? '',
      read,
      keys: acceptedKeys(pin, findings.facts),
      seen,
      findings,
      allowParts,
    }
    await step(findings, () => readFeedStep(pull))
    await step(findings, () => readCrlStep(pull))
    await step(findings, () => readTreatiesStep(pull))
    return findings
  } finally {
    clearTimeout(timer)
  }
}

async function step<Value>(findings: Findings, run: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof StepFailureError)) throw error
    findings.outcomes.push(error.outcome)
    return undefined
  }
}

/** Reads and checks a genesis block. Also used when a partner is added. */
export async function readGenesis(
  parts: PullingParts,
  read: ReadFrom,
  pin: Pin,
  sovereign_id: string | undefined,
): Promise<CheckedGenesis & { readonly date: string | undefined }> {
  const { blocks, date } = await read({ path: '/genesis', maxBytes: SMALL_BYTES })
  return { ...(await parts.checks.run('genesis', { blocks, pin, sovereign_id, now: parts.clock.now() })), date }
}

export async function readMetadata(
  parts: PullingParts,
  read: ReadFrom,
  genesis: GenesisBlock,
): Promise<CheckedMetadata> {
  const { blocks } = await read({ path: '/sovereign.json', maxBytes: SMALL_BYTES })
  return parts.checks.run('metadata', { blocks, genesis })
}

async function readGenesisStep(
  parts: PullingParts,
  findings: Findings,
  read: ReadFrom,
  pin: Pin,
  sovereign_id: string,
): Promise<GenesisBlock> {
  const { block, facts, date } = await readGenesis(parts, read, pin, sovereign_id)
  const { genesis: before } = findings.facts
  // Under pinned keys the root is not verified, so the date of the block proves nothing.
  if (pin.kind === 'root' && before !== undefined && instantOf(facts.valid_from) < instantOf(before.valid_from))
    throw new StepFailureError('rollback')
  if (before?.digest !== facts.digest) findings.changed.push('genesis')
  if (before !== undefined && before.public_key !== facts.public_key) findings.keyChanged = true
  findings.facts = { ...findings.facts, genesis: facts, clock_offset: isClockOff(date, parts.clock.now()) }
  return block
}

function isClockOff(date: string | undefined, now: Instant): boolean {
  const at = Date.parse(date ?? '')
  if (Number.isNaN(at)) return false
  const offset = BigInt(at) * 1000n - now
  return offset > CLOCK_OFFSET || offset < -CLOCK_OFFSET
}

/** Returns whether a next key is announced, if that is known. The document is not signed and decides nothing. */
async function readMetadataStep(
  parts: PullingParts,
  findings: Findings,
  read: ReadFrom,
  genesis: GenesisBlock,
): Promise<boolean | undefined> {
  try {
    const { isSame, announcesKey } = await readMetadata(parts, read, genesis)
    findings.facts = { ...findings.facts, metadata_mismatch: !isSame } satisfies StoredFacts
    return announcesKey
  } catch (error) {
    if (!(error instanceof StepFailureError)) throw error
    if (error.outcome === 'malformed') findings.facts = { ...findings.facts, metadata_mismatch: true }
    return undefined
  }
}
