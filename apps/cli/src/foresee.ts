import { visible } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { DryRunUnsupportedError } from '@chancery/sdk'
import { requireAskable, requireConsent } from './confirm.ts'
import type { CommandContext, Result } from './context.ts'
import type { Options } from './options.ts'

/** What a command would take away, as the authority foresees it. */
export interface Forecast {
  readonly data: JsonObject
  /** Whole lines for people. */
  readonly lines: readonly string[]
}

export interface Deed {
  readonly foresee: () => Promise<Forecast>
  readonly question: string
}

/**
 * Shows what would stop being trusted before anybody is asked. With --dry-run that is all, and the result to end with
 * comes back; --yes leaves out the question, not the answer to it.
 */
export async function foreseeThenAsk(
  context: CommandContext,
  options: Options,
  deed: Deed,
): Promise<{ readonly forecast: Forecast; readonly only?: Result }> {
  const isDryRun = options.isSet('dry-run')
  if (!isDryRun) requireAskable(context, options)
  const forecast = await (isDryRun ? deed.foresee() : foreseeIfPossible(deed))
  const text = forecast.lines.join('\n')
  if (isDryRun) return { forecast, only: { data: forecast.data, text: `${text}\nNothing was changed.` } }
  // A program reads it in the result; a person who is about to be asked always sees it.
  const isSilent = options.isSet('yes') && (context.json || options.isSet('quiet'))
  if (!isSilent) context.stderr.write(`${text}\n`)
  await requireConsent(context, options, deed.question)
  return { forecast }
}

/** A withdrawal does not wait for an authority that cannot say what it would take away. */
async function foreseeIfPossible(deed: Deed): Promise<Forecast> {
  try {
    return await deed.foresee()
  } catch (error) {
    if (!(error instanceof DryRunUnsupportedError)) throw error
    return { data: {}, lines: [`${error.message}. What would stop being trusted is not known beforehand.`] }
  }
}

/** `3 agents: a, b, c`; what is not in the sample is said to be there. */
export function countedText(
  { count, sample }: { readonly count: number; readonly sample: readonly string[] },
  one: string,
  many = `${one}s`,
): string {
  const names = sample.slice(0, SHOWN)
  const shown = names.map((name) => visible(name)).join(', ')
  const more = count > names.length && shown !== '' ? `, and ${count - names.length} more` : ''
  return `${count} ${count === 1 ? one : many}${shown === '' ? '' : `: ${shown}${more}`}`
}

const SHOWN = 5
