import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { withProgress } from '../../output/progress.ts'
import { successOf } from './maintenance.ts'
import { toStartArguments } from './start.ts'

const HINTS: Readonly<Record<string, string>> = {
  settings_invalid: 'Fix what the message names, then run the same command again. No part of a failed migration stays.',
}

/** Runs `authority migrate`: the migrations of this release, without a service. */
export async function runAuthorityMigrate(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const outcome = await withProgress(context, 'Migrating', () =>
    commands.migrateSchema(toStartArguments(context, options)),
  )
  const { from, to } = successOf(outcome, HINTS)
  const text =
    from === to
      ? `Schema version ${to}: nothing to migrate.`
      : `${context.style.good('Migrated:')} schema version ${from} to ${to}.`
  return { data: { from, to }, text }
}
