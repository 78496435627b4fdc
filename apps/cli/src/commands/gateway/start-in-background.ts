import { dirname, resolve } from 'node:path'
import { addressOf } from '../../connection/connection.ts'
import { findPortProblem } from '../../connection/ports.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { typed } from '../../files/files.ts'
import { describeBackground, logFile, pidFile, startInBackground } from '../up/background.ts'
import { toToolError } from './doctor.ts'
import type { Result } from '../../output/screen.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadService } from '../../process.ts'

interface Listener {
  readonly host: string
  readonly port: number
}

export interface StartedGateway {
  readonly log_file: string
  readonly pid_file: string
}

/** Starts a gateway as a process that continues after this command, and waits until it is ready. */
export async function startGatewayInBackground(context: CommandContext, settingsFile: string): Promise<StartedGateway> {
  const { commands } = await import('@chancery/gateway')
  const settings = await commands.loadSettings(settingsFile).catch((error: unknown) => {
    throw toToolError(error, commands)
  })
  if (settings.tlsCertFile !== undefined) throw tlsProblem()
  await refuseUsedPort(settings.address)
  const place = { name: 'gateway', folder: dirname(settingsFile) } as const
  await startInBackground(context, {
    ...place,
    settings: settingsFile,
    isReady: async () => (await commands.checkInstance(settings)).finding.status === 'good',
    afterFailure: {
      complete: 'Its files are complete.',
      again: `Then run: chancery gateway start --env-file ${typed(context.cwd, settingsFile)} --detach`,
    },
  })
  return { log_file: logFile(place), pid_file: pidFile(place) }
}

export function describeStarted(context: CommandContext, { pid_file }: StartedGateway): string {
  return describeBackground(context, { name: 'gateway', folder: dirname(pid_file) })
}

/** Without this check another gateway on the port would pass for the started one. */
export async function refuseUsedPort(listener: Listener): Promise<void> {
  if (!(await isPortInUse(listener))) return
  throw new CommandError({
    code: 'port_in_use',
    message: `Another program on this machine uses ${addressOf(listener.host, String(listener.port))}.`,
    hint: 'Stop that program, or choose another port: --port of gateway init, or GATEWAY_ADDR in the settings file.',
  })
}

export async function isPortInUse({ host, port }: Listener): Promise<boolean> {
  return (await findPortProblem(host, port)) === 'in_use'
}

function tlsProblem(): CommandError {
  return new CommandError({
    code: 'readiness_unknown',
    message: 'A gateway with TLS requires a client certificate, so this command cannot check that it is ready.',
    hint: 'Start it without --detach, or as a service: docs/operate/deploy.md.',
  })
}

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
