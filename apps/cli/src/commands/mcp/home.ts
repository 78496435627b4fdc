import { dirname, join } from 'node:path'
import { requireServerName } from '@chancery/sdk/mcp'
import type { Options } from '../../arguments/options.ts'
import { type NodeConnection, connectAsNode } from '../../connection/node-folder.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import { type GuardRules, loadRules } from './rules.ts'

/** What the commands of this group read before they start. */
export interface GuardHome {
  readonly connection: NodeConnection
  readonly rules: GuardRules
  readonly server: string
  readonly folder: string
  readonly pinsFile: string
}

/** Exactly one of a command of a server and the address of one. */
export type Target = { readonly words: readonly string[] } | { readonly upstream: URL }

export function readTarget(words: readonly string[], options: Options): Target {
  const upstream = options.text('upstream')
  if (words.length > 0 === (upstream !== undefined))
    throw usageError('Give exactly one server: --upstream <url>, or its command after --.')
  if (upstream === undefined) return { words }
  const url = URL.canParse(upstream) ? new URL(upstream) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '')
    throw usageError('--upstream is not an http or https address without a user name.')
  return { upstream: url }
}

/** Opens the folder of the node with the rules of a server. */
export async function openHome(context: CommandContext, options: Options, target: Target): Promise<GuardHome> {
  const connection = await connectAsNode(context, options)
  const home = dirname(connection.files.certificate)
  const file = options.text('rules') ?? join(home, 'mcp.yaml')
  const rules = await loadRules(context, file)
  const host = 'upstream' in target ? target.upstream.hostname.replaceAll(/[^A-Za-z0-9.-]/g, '') : undefined
  const server = options.text('server') ?? rules.server ?? host
  if (server === undefined) throw usageError('--server is missing: the name of the server in capabilities.')
  try {
    requireServerName(server)
  } catch (error) {
    throw usageError(`--server is not usable: ${error instanceof Error ? error.message : ''}.`)
  }
  const folder = join(home, 'mcp', server)
  return { connection, rules, server, folder, pinsFile: join(folder, 'pins.json') }
}
