import { type JsonObject, visible } from '@chancery/protocol'
import { DryRunUnsupportedError } from '@chancery/sdk/authority'
import type { CommandContext } from '../context.ts'
import { type Result, plural, toSeconds } from '../output/screen.ts'
import type { Options } from '../arguments/options.ts'
import { CommandError, usageError } from '../errors/failure.ts'
import { ERRORS } from '@chancery/contract'

function requireInteractive(context: CommandContext, options: Options): void {
  if (options.isSet('yes') || context.isInteractive) return
  throw usageError('This command needs confirmation. The terminal is not interactive; add --yes.')
}

/**
 * Continues only after confirmation: --yes, or an answer at a terminal. `find` throws if the record of the question does
 * not exist, because a person should not confirm something that cannot be done. With --yes the authority says so.
 */
export async function requireConsent(
  context: CommandContext,
  options: Options,
  question: string,
  find: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  if (!options.isSet('yes')) await find()
  requireInteractive(context, options)
  if (options.isSet('yes')) return
  if (!(await context.prompts.confirm(question))) {
    throw new CommandError({ code: 'cancelled', message: 'Cancelled; nothing was changed.' })
  }
}

/** Preview of a change, computed by the authority. */
export interface Preview {
  readonly data: JsonObject
  /** Complete text lines. */
  readonly lines: readonly string[]
}

export interface PreviewedChange {
  readonly preview: () => Promise<Preview>
  readonly question: string
}

/**
 * Shows the preview before it asks for confirmation. With --dry-run it returns the result without a change;
 * --yes skips the question, not the preview.
 */
export async function previewThenConfirm(
  context: CommandContext,
  options: Options,
  change: PreviewedChange,
): Promise<{ readonly preview: Preview; readonly only?: Result }> {
  const isDryRun = options.isSet('dry-run')
  const preview = await (isDryRun ? change.preview() : previewIfPossible(change))
  const text = preview.lines.join('\n')
  if (isDryRun) return { preview, only: { data: preview.data, text: `${text}\nNothing was changed.` } }
  // A program reads the preview in the result. A person sees it before the question. Without an answer to expect, the
  // missing --yes is reported alone.
  const isSilent = options.isSet('yes') ? context.json || options.isSet('quiet') : !context.isInteractive
  if (!isSilent) context.stderr.write(`${toSeconds(text)}\n`)
  await requireConsent(context, options, change.question)
  return { preview }
}

/** Continues without a preview if the authority does not support it. */
async function previewIfPossible(change: PreviewedChange): Promise<Preview> {
  try {
    return await change.preview()
  } catch (error) {
    if (!(error instanceof DryRunUnsupportedError)) throw error
    return { data: {}, lines: [`${error.message}. A preview is not available.`] }
  }
}

/** Returns `3 agents: a, b, c`, with the number of entries that are not in the sample. */
export function countedText(
  { count, sample }: { readonly count: number; readonly sample: readonly string[] },
  one: string,
  many = `${one}s`,
): string {
  const names = sample.slice(0, SHOWN)
  const shown = names.map((name) => visible(name)).join(', ')
  const more = count > names.length && shown !== '' ? `, and ${count - names.length} more` : ''
  return `${plural(count, one, many)}${shown === '' ? '' : `: ${shown}${more}`}`
}

const SHOWN = 5

const NEXT_STEPS = {
  policy_not_found: 'List the stored versions with: chancery policy list',
  boundary_policy_not_found: 'Find policy and version with: chancery policy list',
  executor_key_not_found: 'List the keys with: chancery evidence key list',
} as const

/** Returns the error that the authority would send for a record that does not exist. */
export function missingRecord(code: keyof typeof NEXT_STEPS): CommandError {
  return new CommandError({ code, message: ERRORS[code].message, hint: NEXT_STEPS[code] })
}
