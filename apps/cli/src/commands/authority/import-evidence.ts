import type { CommandContext, Result } from '../../context.ts'
import type { Arguments, Options } from '../../options.ts'
import { withProgress } from '../../output/progress.ts'
import { pathOf, successOf, toHostArguments } from './maintenance.ts'

const HINTS: Readonly<Record<string, string>> = {
  evidence_not_imported:
    'Nothing was changed. Whoever exported or witnessed the store may have more of it; until then it stays closed.',
}

/** authority import-evidence: what a restored database has lost, from what others hold. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const [from = '', anchors] = [pathOf(context, options, 'from'), pathOf(context, options, 'anchors')]
  const outcome = await withProgress(context, 'Importing and verifying the whole store', () =>
    commands.importEvidence({
      ...toHostArguments(context, options, ['--from', '--anchors']),
      from,
      ...(anchors === undefined ? {} : { anchors }),
    }),
  )
  const { entries, anchors: added, lastSequence } = successOf(outcome, HINTS)
  const text = `${context.style.good('Imported:')} ${entries} entries and ${added} anchors. The store ends at entry ${lastSequence} again and opens by itself.`
  return { data: { entries, anchors: added, last_sequence: lastSequence }, text }
}
