import type { EvidenceEvent, EvidenceFilter } from '@chancery/sdk/authority'
import { type Instant, type ReadEvent, asJson, readInstant, segmentName } from '@chancery/protocol'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, table } from '../../output/screen.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { resolve } from 'node:path'
import { usageError } from '../../errors/failure.ts'
import { typed } from '../../files/files.ts'
import { ArchiveFolder } from './archive-files/files.ts'
import { brokenArchive, openValidArchive, readProvenSegment } from './archive-files/read.ts'
import { loadTrust } from './audit-inputs.ts'

export interface ArchivedPage {
  readonly archived: true
  readonly count: number
  readonly next_after_sequence: number | null
  readonly entries: readonly Pick<ReadEvent, 'entry' | 'payload'>[]
}

/** Searches a folder that `evidence archive` wrote. A segment counts only if its entries are those of the signed log. */
async function searchArchive(context: CommandContext, options: Options, filter: EvidenceFilter): Promise<ArchivedPage> {
  const folder = resolve(context.cwd, options.required('archive'))
  const name = typed(context.cwd, folder)
  const files = new ArchiveFolder(folder)
  const chain = await openValidArchive(files, await loadTrust(context, options), name)
  if (chain.number === 0) throw brokenArchive(name, { file: 'manifests', reason: 'manifest_missing' })
  const { after_sequence: after = 0, limit = 100 } = filter
  const isWanted = toCondition(filter)
  const found: ReadEvent[] = []
  for (const segment of chain.segments) {
    if (segment.last <= after) continue
    const proven = await readProvenSegment(files, segment, isWanted)
    if (typeof proven === 'string') throw brokenArchive(name, { file: segmentName(segment), reason: proven })
    for (const event of proven.events) found.push(event)
    if (found.length >= limit) break
  }
  const entries = found.slice(0, limit).map(({ entry, entryDigest, payload }) => ({
    entry,
    entry_digest: entryDigest,
    payload,
  }))
  const next = entries.length === limit ? (entries.at(-1)?.entry.store_sequence ?? null) : null
  return { archived: true, count: entries.length, next_after_sequence: next, entries }
}

function toCondition(filter: EvidenceFilter): (event: ReadEvent) => boolean {
  const { after_sequence: after = 0, limit: _limit, since, until, ...exact } = filter
  const [from, to] = [readTime('since', since), readTime('until', until)]
  const wanted = Object.entries(exact)
  return ({ entry }) => {
    if (entry.store_sequence <= after) return false
    const fields = asJson(entry)
    if (wanted.some(([name, value]) => fields[name] !== value)) return false
    if (from === undefined && to === undefined) return true
    const at = readInstant(entry.recorded_at)
    return at !== undefined && (from === undefined || at >= from) && (to === undefined || at < to)
  }
}

function readTime(flag: string, text: string | undefined): Instant | undefined {
  const time = text === undefined ? undefined : readInstant(text)
  if (text !== undefined && time === undefined)
    throw usageError(`--${flag}: this is not a time.`, 'For example 2026-07-01T12:00:00Z.')
  return time
}

const FLAGS = {
  vendor: 'vendor_id',
  attestation: 'attestation_id',
  capability: 'capability',
  resource: 'resource_id',
  decision: 'decision_id',
  outcome: 'outcome',
  kind: 'entry_kind',
  since: 'since',
  until: 'until',
} as const

/** Runs `evidence search`, in the store or in an archive. */
export async function runEvidenceSearch(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const given = Object.entries(FLAGS).flatMap(([flag, name]) => {
    const value = options.text(flag)
    return value === undefined ? [] : [[name, value] as const]
  })
  const filter: EvidenceFilter = {
    ...Object.fromEntries(given),
    after_sequence: wholeNumberOrDefault(options, 'after', 0, Number.MAX_SAFE_INTEGER),
    limit: wholeNumberOrDefault(options, 'limit', 1, 1000),
  }
  const page = options.isSet('archive')
    ? await searchArchive(context, options, filter)
    : await (await connectAsOperator(context, options)).ask((client) => client.evidence.search(filter))
  const more = page.next_after_sequence === null ? '' : `\nMore: add --after ${page.next_after_sequence}`
  const head = ['SEQUENCE', 'RECORDED', 'KIND', 'OUTCOME', 'VENDOR', 'CAPABILITY', 'RESOURCE']
  const text = page.count === 0 ? 'Nothing found.' : `${table(head, page.entries.map(toRow), context.style)}${more}`
  return { data: asJson(page), text, ids: page.entries.map(({ entry }) => String(entry.store_sequence)) }
}

function toRow({ entry }: Pick<EvidenceEvent, 'entry'>): readonly string[] {
  const { store_sequence, recorded_at, entry_kind, outcome, vendor_id, capability, resource_id } = entry
  return [store_sequence, recorded_at, entry_kind, outcome, vendor_id, capability, resource_id].map((value) =>
    value === null ? '-' : String(value),
  )
}
