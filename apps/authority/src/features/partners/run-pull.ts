import { type GenesisBlock, type Instant, SECOND, instantOf } from '@chancery/protocol'
import type { CheckedGenesis, CheckedMetadata } from './check-material.ts'
import type { Findings } from './findings.ts'
import { type Pin, acceptedKeys } from './pin.ts'
import { readCrlStep } from './read-crl.ts'
import { type ReadFrom, readFrom } from './read-document.ts'
import { type Pull, SMALL_BYTES } from './pull-context.ts'
import { StepFailureError } from './step-failure.ts'
import { readFeedStep } from './read-feed.ts'
import { readHistoryStep } from './read-history.ts'
import { readSuccessionStep } from './read-succession.ts'
import { readTreatiesStep } from './read-treaties.ts'
import type { PartnerRow } from './queries/partners.ts'
import type { PartnersState, PullingParts } from './state.ts'
import { type StoredFacts, readFacts } from './stored-facts.ts'

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
