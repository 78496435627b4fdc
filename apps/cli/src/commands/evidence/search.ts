import type { EvidenceEvent, EvidenceFilter } from '@chancery/sdk/authority'
import { type Instant, type ReadEvent, asJson, readInstant, segmentName } from '@chancery/protocol'
import { type Connection, connectAsOperator } from '../../connection/connection.ts'
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
import { listRejections } from './export.ts'
import { countDecisions } from './receipt.ts'
import { listDecisions, outcomeOf } from './show.ts'

export interface ArchivedPage {
  readonly archived: true
  readonly count: number
  readonly next_after_sequence: number | null
  readonly entries: readonly Pick<ReadEvent, 'entry' | 'payload'>[]
}

/** Searches the folder of an archive. A segment counts only if its entries are those of the signed log. */
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
  since: 'since',
  until: 'until',
} as const

/** Runs `evidence list`: decisions newest first, refused records, counts, or entries in store order. */
export async function runEvidenceList(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  if (options.isSet('all') && options.isSet('limit')) throw usageError('Give --all or --limit, not both.')
  if (options.list('count-by').length > 0) return countDecisions(context, options)
  const kind = options.textOrDefault('kind')
  if (kind === 'rejection') return listRejections(context, options)
  const ofEntries = ['attestation', 'resource', 'decision', 'archive'].some((name) => options.isSet(name))
  const ofDecisions = ['requester', 'failed-gate'].find((name) => options.isSet(name))
  if (kind === 'decision' && !ofEntries) return listDecisions(context, options)
  if (ofDecisions !== undefined) throw usageError(`--${ofDecisions} is for decisions, newest first.`)
  return listEntries(context, options, options.isSet('kind') || !ofEntries ? kind : 'all')
}

async function listEntries(context: CommandContext, options: Options, kind: string): Promise<Result> {
  const given = Object.entries(FLAGS).flatMap(([flag, name]) => {
    const value = options.text(flag)
    return value === undefined ? [] : [[name, value] as const]
  })
  const outcome = outcomeOf(options)
  const limit = options.isSet('all') ? undefined : wholeNumberOrDefault(options, 'limit', 1, 1000)
  const filter: EvidenceFilter = {
    ...Object.fromEntries(given),
    ...(outcome === undefined ? {} : { outcome }),
    ...(kind === 'all' ? {} : { entry_kind: kind }),
  }
  const page = options.isSet('archive')
    ? await searchArchive(context, options, { ...filter, limit: limit ?? Number.MAX_SAFE_INTEGER })
    : await searchStore(await connectAsOperator(context, options), filter, limit)
  const more = page.next_after_sequence === null ? '' : '\nThere are more. Add --all or --limit.'
  const head = ['SEQUENCE', 'RECORDED', 'KIND', 'OUTCOME', 'VENDOR', 'CAPABILITY', 'RESOURCE']
  const text = page.count === 0 ? 'Nothing found.' : `${table(head, page.entries.map(toRow), context.style)}${more}`
  return { data: asJson(page), text, ids: page.entries.map(({ entry }) => String(entry.store_sequence)) }
}

/** Page after page, until there are enough. */
async function searchStore(
  connection: Connection,
  filter: EvidenceFilter,
  limit = Number.POSITIVE_INFINITY,
): Promise<Pick<ArchivedPage, 'count' | 'next_after_sequence'> & { readonly entries: readonly EvidenceEvent[] }> {
  const entries: EvidenceEvent[] = []
  for (let after = 0; ;) {
    const size = Math.min(1000, limit - entries.length)
    const page = await connection.ask((client) =>
      client.evidence.search({ ...filter, after_sequence: after, limit: size }),
    )
    entries.push(...page.entries)
    const next = page.next_after_sequence
    if (next === null || entries.length >= limit) return { count: entries.length, next_after_sequence: next, entries }
    after = next
  }
}

function toRow({ entry }: Pick<EvidenceEvent, 'entry'>): readonly string[] {
  const { store_sequence, recorded_at, entry_kind, outcome, vendor_id, capability, resource_id } = entry
  return [store_sequence, recorded_at, entry_kind, outcome, vendor_id, capability, resource_id].map((value) =>
    value === null ? '-' : String(value),
  )
}
