import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Options } from '../../arguments/options.ts'
import { findConfig } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type StartArguments, toStartArguments } from './start.ts'

/**
 * The settings of the options, else those of the configured authority. The environment of a service names its settings
 * itself; only an explicit --config counts there.
 */
export async function findSettings(context: CommandContext, options: Options): Promise<StartArguments> {
  const given = toStartArguments(context, options)
  const isService = (context.env['GENESIS_FILE'] ?? '') !== '' && !options.isSet('config')
  if (given.envFile !== undefined || isService) return given
  const { paths } = await findConfig(context, options)
  // The folder of a node has no authority.
  if (paths.na_private_key === undefined) return given
  const file = paths.home === undefined ? undefined : join(paths.home, 'authority.env')
  if (file !== undefined && existsSync(file)) return { ...given, envFile: file }
  const found = { '--genesis': paths.genesis, '--na-private-key': paths.na_private_key, '--db-path': paths.db }
  const known = Object.entries(found).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return { ...given, flags: { ...Object.fromEntries(known), ...given.flags } }
}
