import { resolve } from 'node:path'
import { AnchorChecker, StoreChecker, reportJson } from '@chancery/protocol'
import type { StoreReport } from '@chancery/protocol'
import type { CommandContext, Result } from '../../context.ts'
import type { Arguments, Options } from '../../options.ts'
import { withProgress } from '../../output/progress.ts'
import { visible } from '../../output/visible.ts'
import { auditFile } from './audit-file.ts'
import { loadAnchors, loadBoundary, loadExecutorKeys, loadTrust } from './audit-inputs.ts'
import { keysOf } from './audit-keys.ts'

/** evidence verify: needs no server and believes no one but the keys it was given. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const file = args.required('file')
  const trust = await loadTrust(context, options)
  const anchors = await AnchorChecker.open(await loadAnchors(context, options), [trust.key], trust.network)
  const keys = { authority: [trust.key], executors: await loadExecutorKeys(context, options) }
  const boundary = await loadBoundary(context, options)
  const checker = new StoreChecker({ keys: keysOf(keys), scope: 'store', boundary, anchors })
  await withProgress(context, `Verifying ${file}`, (progress) =>
    auditFile(resolve(context.cwd, file), checker, keys, (share) =>
      progress.say(
        `Verified ${checker.checked} entries (${Math.floor(share * 100)} %), ${checker.failureCount} failures`,
      ),
    ),
  )
  const report = await checker.finish()
  const data = reportJson(report, { anchors: anchors.report() })
  return { data, text: describe(context, file, report), exitCode: report.failures.length === 0 ? 0 : 1 }
}

function describe({ style }: CommandContext, file: string, report: StoreReport): string {
  const { checked_entries, decisions, executions, failures } = report
  const counted = `${checked_entries} entries, ${decisions} decisions, ${executions} executions`
  const [first] = failures
  if (first === undefined)
    return `${style.good('Verified:')} ${visible(file)} holds ${counted}, and every one is sound.`
  const place = first.store_sequence === null ? 'the checkpoint' : `entry ${first.store_sequence}`
  const shown = failures
    .slice(0, 20)
    .map(({ store_sequence, reason, detail }) => `  ${store_sequence ?? '-'}  ${reason}  ${visible(detail)}`)
  const rest = failures.length > 20 ? `\n  … ${failures.length - 20} more` : ''
  return `${style.bad('Not sound:')} the first problem is at ${place} (${first.reason}).\n${counted}, ${failures.length} failures:\n${shown.join('\n')}${rest}`
}
