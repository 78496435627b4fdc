import { resolve } from 'node:path'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { usageError } from '../../errors/failure.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadService } from '../../process.ts'
import { describeStarted, startGatewayInBackground } from './start-in-background.ts'

export interface GatewayStart {
  readonly action: 'start' | 'check-config' | 'init-state'
  readonly json: boolean
  readonly online: boolean
  readonly envFile?: string
}

/** Runs `gateway start`: loads the service only here, and runs it, checks its configuration or creates its state. */
export async function runGatewayStart(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await loadService(() => import('@chancery/gateway'))
  if (options.isSet('version')) return { text: commands.version(), data: { version: commands.version() } }
  if (options.isSet('detach')) return startDetached(context, options)
  return { exitCode: await commands.start(toGatewayStart(context, options)) }
}

async function startDetached(context: CommandContext, options: Options): Promise<Result> {
  for (const name of ['check-config', 'init-state', 'online'])
    if (options.isSet(name)) throw usageError(`Give --detach or --${name}, not both.`)
  const envFile = options.text('env-file')
  if (envFile === undefined)
    throw usageError('--detach needs --env-file.', 'The log and the process id are written next to that file.')
  const started = await startGatewayInBackground(context, resolve(context.cwd, envFile))
  return { data: { ...started }, text: describeStarted(context, started) }
}

export function toGatewayStart({ json }: Pick<CommandContext, 'json'>, options: Options): GatewayStart {
  const [isCheck, isInit, online] = [
    options.isSet('check-config'),
    options.isSet('init-state'),
    options.isSet('online'),
  ]
  if (isCheck && isInit) throw usageError('Give --check-config or --init-state, not both.')
  if (online && !isCheck) throw usageError('--online goes with --check-config.')
  const envFile = options.text('env-file')
  const action = isCheck ? 'check-config' : isInit ? 'init-state' : 'start'
  return envFile === undefined ? { action, json, online } : { action, json, online, envFile }
}
