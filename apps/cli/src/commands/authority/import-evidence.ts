import type { CommandContext } from '../../context.ts'
import { type Result, plural, withProgress } from '../../output/screen.ts'
import type { Options } from '../../arguments/options.ts'
import { pathOf, successOf } from './host.ts'
import { findSettings } from './start.ts'

const HINTS: Readonly<Record<string, string>> = {
  evidence_not_imported:
    'Nothing was changed. While evidence is missing, the evidence store stays disabled: ask for a longer export from a person who exported or witnessed the store.',
  evidence_complete: 'Nothing was changed. The store has every entry that the high-water mark names.',
  recovery_needed: 'Nothing was changed. Run chancery authority recover first, then this command again.',
}

/** `authority recover --evidence`: adds entries that a restored database lacks. */
export async function importEvidence(context: CommandContext, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const [from = '', anchors] = [pathOf(context, options, 'evidence'), pathOf(context, options, 'anchors')]
  const settings = await findSettings(context, options)
  const outcome = await withProgress(context, 'Importing and verifying the whole store', () =>
    commands.importEvidence({
      ...settings,
      from,
      ...(anchors === undefined ? {} : { anchors }),
    }),
  )
  const { entries, anchors: added, lastSequence } = successOf(outcome, HINTS)
  const text = `${context.style.good('Imported:')} ${plural(entries, 'entry', 'entries')} and ${plural(added, 'anchor')}. The store ends at entry ${lastSequence} again and opens by itself.`
  return { data: { entries, anchors: added, last_sequence: lastSequence }, text }
}
