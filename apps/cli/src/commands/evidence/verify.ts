import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { AnchorChecker, StoreChecker, reportJson, visible } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { withProgress } from '../../output/progress.ts'
import { auditFile } from './audit-file.ts'
import { loadBoundary, loadExecutorKeys, loadTrust } from './audit-inputs.ts'
import { keysOf } from './audit-keys.ts'
import { plural } from '../../output/plural.ts'
import { usageError } from '../../errors/failure.ts'
import { describeStore, missingKeysText, remarksText, setAside, unprovenOf } from './describe-report.ts'
import { loadAnchors } from './saved-anchors.ts'
import { verifyFolder } from './verify-archive.ts'

/** Runs `evidence verify` without a server, with the given keys only. A folder is an archive. */
export async function runEvidenceVerify(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const file = args.required('file')
  const found = await stat(resolve(context.cwd, file)).catch(() => undefined)
  if (found?.isDirectory() === true) return verifyFolder(context, file, options)
  if (options.isSet('live'))
    throw usageError('--live is for an archive.', 'Give the folder that chancery evidence archive wrote.')
  const trust = await loadTrust(context, options)
  const anchors = await AnchorChecker.open(await loadAnchors(context, options), trust.keys, trust.network)
  const keys = { authority: trust.keys, executors: await loadExecutorKeys(context, options) }
  const boundary = await loadBoundary(context, options)
  const checker = new StoreChecker({ keys: keysOf(keys), scope: 'store', boundary, anchors })
  await withProgress(context, `Verifying ${file}`, (progress) =>
    auditFile(resolve(context.cwd, file), checker, keys, {
      network: trust.network,
      update: (share) =>
        progress.update(
          `Verified ${plural(checker.checked, 'entry', 'entries')} (${Math.floor(share * 100)} %), ${plural(checker.failureCount, 'failure')}`,
        ),
    }),
  )
  const report = await checker.finish()
  const { verified, unjudged } = options.isSet('executor-keys') ? { verified: report, unjudged: 0 } : setAside(report)
  const missing = unjudged === 0 ? {} : { verified: false, executions_not_judged: unjudged, missing: 'executor_keys' }
  const anchored = anchors.report()
  const isEmpty = report.checked_entries === 0 && report.failures.length === 0
  const nothing = isEmpty ? { verified: false, missing: 'entries' } : {}
  const unproven = [...unprovenOf(verified, anchored)]
  const data = reportJson(verified, { anchors: anchored, unproven, ...missing, ...nothing })
  if (isEmpty) {
    const text = `${context.style.warn('Nothing was verified:')} ${visible(file)} has no entry.`
    return { data, text, exitCode: 2 }
  }
  const text = [
    ...(unjudged === 0 || verified.failures.length > 0 ? [describeStore(context, file, verified)] : []),
    ...(unjudged === 0 ? remarksText(context, verified, anchored) : [missingKeysText(context, unjudged, verified)]),
  ].join('\n')
  return { data, text, exitCode: report.failures.length === 0 ? 0 : 1 }
}
