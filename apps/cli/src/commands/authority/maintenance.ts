import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type Result, plural, withProgress } from '../../output/screen.ts'
import { pathOf, successOf } from './host.ts'
import { findSettings } from './start.ts'
import { REVOCATION_REASONS, readInstant } from '@chancery/protocol'
import { copyDatabase } from './migrate-db.ts'

/** Runs `authority resign-lists`: signs lists again that a wrong clock dated in the future. */
export async function runAuthorityResignLists(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const now = readInstant(options.required('at'))
  if (now === undefined)
    throw usageError(
      '--at is not a time in ISO 8601.',
      'Give the present time from another clock: --at 2026-05-01T12:00:00Z',
    )
  return { exitCode: await commands.resignLists({ ...(await findSettings(context, options)), now }) }
}

const HINTS: Readonly<Record<string, string>> = {
  settings_invalid: 'Fix what the message names, then run the same command again. No part of a failed migration stays.',
}

/** Runs `authority migrate`: the migrations of this release, without a service; or a copy into PostgreSQL. */
export async function runAuthorityMigrate(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  if (options.isSet('from')) return copyDatabase(context, options)
  const settings = await findSettings(context, options)
  const outcome = await withProgress(context, 'Migrating', () => commands.migrateSchema(settings))
  const { from, to } = successOf(outcome, HINTS)
  const text =
    from === to
      ? `Schema version ${to}: nothing to migrate.`
      : `${context.style.good('Migrated:')} schema version ${from} to ${to}.`
  return { data: { from, to }, text }
}

/** Runs `authority recover`: raises a restored database above its high-water mark. */
export async function runAuthorityRecover(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  if (options.isSet('evidence')) return importEvidence(context, options)
  if (options.isSet('anchors')) throw usageError('--anchors needs --evidence.')
  const { commands } = await import('@chancery/authority')
  const sources = readSources(context, options)
  const [crl, feed] = [pathOf(context, options, 'crl'), pathOf(context, options, 'feed')]
  if (sources === undefined) {
    const exitCode = await commands.recover({
      ...(await findSettings(context, options)),
      withoutMark: options.isSet('without-mark'),
      ...(crl === undefined ? {} : { crl }),
      ...(feed === undefined ? {} : { feed }),
    })
    return { exitCode }
  }
  if ((crl ?? feed) !== undefined || options.isSet('without-mark'))
    throw usageError(
      '--presented, --audit and --certificates cannot be combined with --crl, --feed and --without-mark.',
      'Recover first. Then run the command with --presented, --audit or --certificates.',
    )
  return { exitCode: await commands.recoverUnknown({ ...(await findSettings(context, options)), ...sources }) }
}

const ACTIONS = ['list', 'revoke', 'adopt'] as const

/** Returns the records to compare the database with, or undefined without such options. */
function readSources(context: CommandContext, options: Options) {
  const [audit, certificates] = [pathOf(context, options, 'audit'), pathOf(context, options, 'certificates')]
  const presented = options.isSet('presented')
  if (audit === undefined && certificates === undefined && !presented) return undefined
  const action = options.textOrDefault('unknown')
  const unknown = ACTIONS.find((each) => each === action)
  if (unknown === undefined) throw usageError(`--unknown must be one of ${ACTIONS.join(', ')}.`)
  const word = options.textOrDefault('reason')
  const reason = REVOCATION_REASONS.find((each) => each === word)
  if (reason === undefined) throw usageError(`--reason must be one of ${REVOCATION_REASONS.join(', ')}.`)
  return {
    unknown,
    reason,
    presented,
    ...(audit === undefined ? {} : { audit }),
    ...(certificates === undefined ? {} : { certificates }),
  }
}

const EVIDENCE_HINTS: Readonly<Record<string, string>> = {
  evidence_not_imported:
    'Nothing was changed. While evidence is missing, the evidence store stays disabled: ask for a longer export from a person who exported or witnessed the store.',
  evidence_complete: 'Nothing was changed. The store has every entry that the high-water mark names.',
  recovery_needed: 'Nothing was changed. Run chancery authority recover first, then this command again.',
}

/** `authority recover --evidence`: adds entries that a restored database lacks. */
async function importEvidence(context: CommandContext, options: Options): Promise<Result> {
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
  const { entries, anchors: added, lastSequence } = successOf(outcome, EVIDENCE_HINTS)
  const text = `${context.style.good('Imported:')} ${plural(entries, 'entry', 'entries')} and ${plural(added, 'anchor')}. The store ends at entry ${lastSequence} again and opens by itself.`
  return { data: { entries, anchors: added, last_sequence: lastSequence }, text }
}
