import { resolve } from 'node:path'
import { AnchorChecker, StoreChecker, reportJson, visible } from '@chancery/protocol'
import type { StoreFinding, StoreReport } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { withProgress } from '../../output/progress.ts'
import { auditFile } from './audit-file.ts'
import { loadAnchors, loadBoundary, loadExecutorKeys, loadTrust } from './audit-inputs.ts'
import { keysOf } from './audit-keys.ts'
import { plural } from '../../output/plural.ts'

/** Runs `evidence verify` without a server, with the given keys only. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const file = args.required('file')
  const trust = await loadTrust(context, options)
  const anchors = await AnchorChecker.open(await loadAnchors(context, options), trust.keys, trust.network)
  const keys = { authority: trust.keys, executors: await loadExecutorKeys(context, options) }
  const boundary = await loadBoundary(context, options)
  const checker = new StoreChecker({ keys: keysOf(keys), scope: 'store', boundary, anchors })
  await withProgress(context, `Verifying ${file}`, (progress) =>
    auditFile(resolve(context.cwd, file), checker, keys, (share) =>
      progress.update(
        `Verified ${plural(checker.checked, 'entry', 'entries')} (${Math.floor(share * 100)} %), ${plural(checker.failureCount, 'failure')}`,
      ),
    ),
  )
  const report = await checker.finish()
  const { verified, unjudged } = options.isSet('executor-keys') ? { verified: report, unjudged: 0 } : setAside(report)
  const missing = unjudged === 0 ? {} : { verified: false, executions_not_judged: unjudged, missing: 'executor_keys' }
  const data = reportJson(verified, { anchors: anchors.report(), ...missing })
  const text = [
    ...(unjudged === 0 || verified.failures.length > 0 ? [describe(context, file, verified)] : []),
    ...(unjudged === 0 ? [] : [missingText(context, unjudged, verified)]),
  ].join('\n')
  return { data, text, exitCode: report.failures.length === 0 ? 0 : 1 }
}

/**
 * Without executor keys, execution signatures cannot be verified. By protocol/trust-operations 6.9 they would count as
 * invalid, which would be a false alarm if no keys were given.
 */
function setAside(report: StoreReport): { readonly verified: StoreReport; readonly unjudged: number } {
  const isOfExecutor = ({ reason, detail }: StoreFinding): boolean =>
    reason === 'invalid_signature' && detail === 'execution'
  const failures = report.failures.filter((finding) => !isOfExecutor(finding))
  return { verified: { ...report, failures }, unjudged: report.failures.length - failures.length }
}

function missingText({ style }: CommandContext, unjudged: number, { failures, checked_entries }: StoreReport): string {
  const rest =
    failures.length === 0 ? ` Everything else in its ${plural(checked_entries, 'entry', 'entries')} is sound.` : ''
  return (
    `${style.bad('Not verified in full:')} the executor keys are missing, so ${unjudged} ` +
    `${unjudged === 1 ? 'execution was' : 'executions were'} not verified.${rest}\n` +
    `Give --executor-keys with a file made by: chancery executor-key list --json`
  )
}

function describe({ style }: CommandContext, file: string, report: StoreReport): string {
  const { checked_entries, decisions, executions, rejections, failures } = report
  const refused = rejections === 0 ? '' : `, ${rejections} rejections`
  const counted = `${plural(checked_entries, 'entry', 'entries')}, ${plural(decisions, 'decision')}, ${plural(executions, 'execution')}${refused}`
  const [first] = failures
  if (first === undefined) return `${style.good('Verified:')} ${visible(file)} contains ${counted}; all are valid.`
  const place = first.store_sequence === null ? 'the checkpoint' : `entry ${first.store_sequence}`
  const shown = failures
    .slice(0, 20)
    .map(({ store_sequence, reason, detail }) => `  ${store_sequence ?? '-'}  ${reason}  ${visible(detail)}`)
  const rest = failures.length > 20 ? `\n  … ${failures.length - 20} more` : ''
  return `${style.bad('Not valid:')} the first problem is at ${place} (${first.reason}).\n${counted}, ${failures.length} failures:\n${shown.join('\n')}${rest}`
}
