import { resolve } from 'node:path'
import { AnchorChecker, type JsonObject, type StoreComparison, reportJson, visible } from '@chancery/protocol'
import type { Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import { type Result, plural, withProgress } from '../../output/screen.ts'
import { ArchiveFolder } from './archive-files/files.ts'
import { type ArchiveFinding, compareWithLiving } from './archive-files/read.ts'
import { type ArchiveAudit, type ArchiveReport, verifyArchive } from './archive-files/verify.ts'
import { loadExecutorKeys, loadTrust } from './audit-inputs.ts'
import { keysOf } from './audit-keys.ts'
import { AuditThreads, describeStore, missingKeysText, setAside } from './describe-report.ts'
import { loadAnchors } from './saved-anchors.ts'

/** Blocks in flight for each thread. */
const AHEAD = 4

/** Verifies a folder of an archive, alone or together with the living store. */
export async function verifyFolder(context: CommandContext, folder: string, options: Options): Promise<Result> {
  if (options.isSet('checkpoint'))
    throw usageError('A checkpoint is for an export.', 'An archive has the checkpoint after which it begins.')
  const trust = await loadTrust(context, options)
  const anchors = await AnchorChecker.open(await loadAnchors(context, options), trust.keys, trust.network)
  const keys = { authority: trust.keys, executors: await loadExecutorKeys(context, options) }
  const audit = { trust, keys: keysOf(keys), anchors, threads: new AuditThreads(keys) }
  const report = await runAudit(context, folder, audit)
  const living = options.isSet('live') ? await compare(context, options, report) : undefined
  return describeArchive(context, options, { folder, report, living, anchors: anchors.report() })
}

async function runAudit(
  context: CommandContext,
  folder: string,
  { threads, ...audit }: Pick<ArchiveAudit, 'trust' | 'keys' | 'anchors'> & { readonly threads: AuditThreads },
): Promise<ArchiveReport> {
  try {
    return await withProgress(context, `Verifying ${folder}`, (progress) =>
      verifyArchive(new ArchiveFolder(resolve(context.cwd, folder)), {
        ...audit,
        examine: (block) => threads.examine(block),
        blocks: threads.size * AHEAD,
        update: (checked, share) =>
          progress.update(`Verified ${plural(checked, 'entry', 'entries')} (${Math.floor(share * 100)} %)`),
      }),
    )
  } finally {
    await threads.close()
  }
}

async function compare(
  context: CommandContext,
  options: Options,
  { end }: ArchiveReport,
): Promise<StoreComparison | undefined> {
  return end === undefined ? undefined : compareWithLiving(await connectAsOperator(context, options), end)
}

interface Shown {
  readonly folder: string
  readonly report: ArchiveReport
  readonly living: StoreComparison | undefined
  readonly anchors: JsonObject
}

function describeArchive(
  context: CommandContext,
  options: Options,
  { folder, report, living, anchors }: Shown,
): Result {
  const findings: readonly ArchiveFinding[] = [
    ...report.findings,
    ...(living?.difference === undefined ? [] : [{ file: 'the living store', reason: living.difference }]),
  ]
  const { verified, unjudged } = options.isSet('executor-keys')
    ? { verified: report.store, unjudged: 0 }
    : setAside(report.store)
  const isSound = findings.length === 0 && verified.failures.length === 0 && unjudged === 0
  const archive = {
    first_sequence: report.first,
    last_sequence: report.last,
    segments: report.segments,
    findings,
    other_files: report.otherFiles,
    ...(living === undefined ? {} : { current: living.entriesAfter === 0, entries_after: living.entriesAfter }),
  }
  const missing = unjudged === 0 ? {} : { executions_not_judged: unjudged, missing: 'executor_keys' }
  const data = reportJson(verified, { anchors, archive, ...missing, ...(isSound ? {} : { verified: false }) })
  const text = [
    ...findings.map(({ file, reason }) => `${context.style.bad('Not valid:')} ${visible(file)} (${reason}).`),
    ...(verified.failures.length > 0 || (findings.length === 0 && unjudged === 0)
      ? [describeStore(context, folder, verified)]
      : []),
    ...(unjudged === 0 ? [] : [missingKeysText(context, unjudged, verified)]),
    ...describePlace(report, living),
  ].join('\n')
  return { data, text, exitCode: isSound ? 0 : 1 }
}

function describePlace({ first, last, otherFiles }: ArchiveReport, living: StoreComparison | undefined): string[] {
  const lines = [`The archive has the entries ${first} to ${last}.`]
  if (living !== undefined && living.difference === undefined)
    lines.push(
      living.entriesAfter === 0
        ? 'It is current: the living store has no newer entry.'
        : `It is not current: the living store continues it with ${plural(living.entriesAfter, 'newer entry', 'newer entries')}.`,
    )
  if (otherFiles.length > 0)
    lines.push(
      `${plural(otherFiles.length, 'file')} in the folder ${otherFiles.length === 1 ? 'is' : 'are'} not part of it.`,
    )
  return lines
}
