import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { AnchorChecker, StoreChecker, reportJson } from '@chancery/protocol'
import type { StoreReport } from '@chancery/protocol'
import type { CommandContext, Result } from '../../context.ts'
import { toFailure } from '../../files.ts'
import type { Arguments, Options } from '../../options.ts'
import { withProgress } from '../../output/progress.ts'
import type { Progress } from '../../output/progress.ts'
import { visible } from '../../output/visible.ts'
import { loadAnchors, loadBoundary, loadExecutorKeys, loadTrust } from './audit-inputs.ts'

const EVERY = 5000

/** evidence verify: needs no server and believes no one but the keys it was given. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const file = args.required('file')
  const trust = await loadTrust(context, options)
  const anchors = await AnchorChecker.open(await loadAnchors(context, options), [trust.key], trust.network)
  const checker = new StoreChecker({
    keys: { authority: [trust.key], executor: await loadExecutorKeys(context, options) },
    scope: 'store',
    boundary: await loadBoundary(context, options),
    anchors,
  })
  const path = resolve(context.cwd, file)
  await withProgress(context, `Verifying ${file}`, (progress) => feed(path, checker, progress))
  const report = await checker.finish()
  const data = reportJson(report, { anchors: anchors.report() })
  return { data, text: describe(context, file, report), exitCode: report.failures.length === 0 ? 0 : 1 }
}

/** Line by line: a file of any size takes the same memory. */
async function feed(path: string, checker: StoreChecker, progress: Progress): Promise<void> {
  const { size } = await stat(path).catch((error: unknown) => {
    throw toFailure(error, path, 'read')
  })
  const bytes = createReadStream(path)
  const lines = createInterface({ input: bytes, crlfDelay: Number.POSITIVE_INFINITY })
  for await (const line of lines) {
    await checker.add(line)
    if (checker.checked % EVERY === 0) {
      const share = Math.floor((bytes.bytesRead / Math.max(size, 1)) * 100)
      progress.say(`Verified ${checker.checked} entries (${share} %), ${checker.failureCount} failures`)
    }
  }
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
