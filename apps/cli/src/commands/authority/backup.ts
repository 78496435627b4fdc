import type { JsonObject } from '@chancery/protocol'
import type { CommandContext, Result } from '../../context.ts'
import type { Arguments, Options } from '../../options.ts'
import { withProgress } from '../../output/progress.ts'
import { visible } from '../../output/visible.ts'
import { megabytes, pathOf, saying, successOf, toHostArguments } from './maintenance.ts'

const HINTS: Readonly<Record<string, string>> = {
  database_unavailable: 'Look at DB_PATH or DATABASE_URL of the settings; chancery doctor says more.',
}

/** authority backup: a copy of the database in use, with a manifest signed by the authority's key. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const to = pathOf(context, options, 'to') ?? ''
  const outcome = await withProgress(context, 'Backing up', (progress) =>
    commands.backup({ ...toHostArguments(context, options, ['--to']), to, onProgress: saying(progress) }),
  )
  const { manifest, behind, seconds } = successOf(outcome, HINTS)
  const bytes = manifest.parts.reduce((sum, part) => sum + part.bytes, 0)
  const rows = Object.values(manifest.tables).reduce((sum, count) => sum + count, 0)
  const { crl, feed, evidence } = manifest.high_water
  const text = [
    `${context.style.good('Backed up:')} ${rows} rows, ${megabytes(bytes)}, in ${seconds} s, to ${visible(to)}`,
    `Revocation list ${crl?.sequence ?? 'none'}, feed ${feed?.sequence ?? 'none'}, evidence ${evidence?.sequence ?? 'none'}.`,
    ...(behind.length === 0
      ? []
      : [
          `${context.style.warn('The database is older than what was published')} (${behind.join(', ')}), and so is this backup: chancery authority recover`,
        ]),
    'Not inside: private keys, settings, the high-water mark. Keep each of them elsewhere.',
    `Try it: chancery authority rehearse --from ${visible(to)}, with the same settings.`,
  ]
  const data = { folder: to, manifest: manifest as unknown as JsonObject, behind, bytes, seconds }
  return { data, text: text.join('\n') }
}
