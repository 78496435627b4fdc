import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type JsonObject, asJson } from '@chancery/protocol'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type Connection, connect, connectAsOperator, hasOperatorKey } from '../../connection/connection.ts'
import { findConfig } from '../../connection/target.ts'
import type { CommandContext } from '../../context.ts'
import { explain } from '../../errors/explain.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import type { Config } from '../../files/config.ts'
import { typed } from '../../files/files.ts'
import { genesisFingerprint } from '../../files/genesis-file.ts'
import { type Result, fields } from '../../output/screen.ts'
import { nodeStatus } from '../enrollment/status.ts'
import { evidenceRows } from '../evidence/receipt.ts'
import { withGateway } from '../gateway/tools.ts'
import { feedRows } from '../revocation-feeds/status.ts'
import { findRunning } from '../up/running.ts'

/** Runs `status`: what is in the folder of the target, and whether it is ready. */
export async function runStatus(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const isEnvironment = !options.isSet('home') && (context.env['GATEWAY_POLICY_FILE'] ?? '') !== ''
  if (isEnvironment) return gatewayStatus(context, options, undefined)
  const config = await findConfig(context, options)
  const { home, node_certificate: certificate } = config.paths
  if (certificate !== undefined) return nodeStatus(context, options)
  if (home !== undefined && existsSync(join(home, 'gateway.env'))) return gatewayStatus(context, options, home)
  if (config.network.na_endpoint === undefined && !options.isSet('url')) {
    if (home === undefined)
      throw usageError('No network is selected.', 'Select one: chancery use ./folder. Or give --home.')
    throw usageError(`${typed(context.cwd, home)} has no service and no node.`, 'Create a network there: chancery up')
  }
  return authorityStatus(context, options, config)
}

async function authorityStatus(context: CommandContext, options: Options, config: Config): Promise<Result> {
  const { home } = config.paths
  const isOperator = await hasOperatorKey(context, options)
  const connection = await (isOperator ? connectAsOperator : connect)(context, options)
  const problem = await findProblem(connection)
  const running = home === undefined ? undefined : await findRunning({ name: 'authority', folder: home })
  const name = connection.genesis?.network_name ?? config.network.name ?? connection.url
  const start = home === undefined ? '' : `    start: chancery up --home ${typed(context.cwd, home)}`
  const pid = running === undefined ? '' : `  pid ${running.pid}`
  const rows: (readonly [string, string])[] = [
    ['authority', problem === undefined ? `ready  ${connection.url}${pid}` : `${problem}${start}`],
  ]
  const isReady = problem === undefined
  const evidence = isReady && isOperator ? await connection.ask(() => evidenceOf(connection)) : undefined
  const feeds = isReady ? await feedRows(connection, context.style) : undefined
  rows.push(...(evidence?.rows ?? []))
  const { genesis } = connection
  const fingerprint = genesis === undefined ? null : genesisFingerprint(genesis)
  const title = `${context.style.title(name)}  ${fingerprint ?? 'not pinned'}  (${config.source ?? '--url'})`
  const data = {
    network: { name, fingerprint, url: connection.url, source: config.source ?? null },
    ready: isReady,
    problem: problem ?? null,
    authority_key: connection.authorityKey ?? null,
    evidence: evidence === undefined ? null : asJson(evidence.status),
    ...(feeds === undefined ? { own_feed: null, imported_feeds: [] } : feeds.data),
    pid: running?.pid ?? null,
  }
  const parts = [title, fields(rows, context.style), ...(feeds === undefined ? [] : ['', feeds.text])]
  return { data: data as JsonObject, text: parts.join('\n'), exitCode: isReady ? 0 : 1 }
}

/** A store that is off is no problem of the status. */
async function evidenceOf(connection: Connection): Promise<Awaited<ReturnType<typeof evidenceRows>> | undefined> {
  try {
    return await evidenceRows(connection)
  } catch (error) {
    if (explain(error).code === 'evidence_store_disabled') return undefined
    throw error
  }
}

/** Why the authority is not ready. That another network answers is an error of the command. */
async function findProblem(connection: Connection): Promise<string | undefined> {
  try {
    await connection.ask((client) => client.health.readyz())
    return undefined
  } catch (error) {
    const { code, message } = explain(error)
    if (code === 'another_network') throw error
    return code === 'unreachable' ? 'stopped' : message
  }
}

/** The lists of a gateway with their sequences, which is what `verify --floors` reads. */
async function gatewayStatus(context: CommandContext, options: Options, home: string | undefined): Promise<Result> {
  const running = home === undefined ? undefined : await findRunning({ name: 'gateway', folder: home })
  return withGateway(context, options, async (commands, settings) => {
    const { finding } = await commands.checkInstance(settings)
    const isReady = finding.status === 'good'
    const floors = await commands.state.floors(settings).catch((error: unknown) => {
      if (commands.expectedLines(error) === undefined) throw error
      throw new CommandError({ code: 'no_state', message: (commands.expectedLines(error) ?? []).join(' ') })
    })
    const pid = running === undefined ? '' : `  pid ${running.pid}`
    const start = home === undefined ? '' : `    start: chancery up --home ${typed(context.cwd, home)}`
    const rows: (readonly [string, string])[] = [['gateway', isReady ? `ready${pid}` : `stopped${start}`]]
    const data = { ...floors.data, ready: isReady, pid: running?.pid ?? null }
    return { data, text: `${fields(rows, context.style)}\n\n${floors.text ?? ''}`, exitCode: floors.exitCode ?? 0 }
  })
}
