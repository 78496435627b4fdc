import { dirname, resolve } from 'node:path'
import { addressOf } from '../../connection/connection.ts'
import { findPortProblem } from '../../connection/ports.ts'
import { findSettingsFile } from '../../connection/target.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { typed } from '../../files/files.ts'
import { describeBackground, startInBackground } from '../up/background.ts'
import { logFile, pidFile } from '../up/running.ts'
import { toToolError } from './tools.ts'
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
    address: addressOf(settings.address.host, String(settings.address.port)),
    isReady: async () => (await commands.checkInstance(settings)).finding.status === 'good',
    afterFailure: {
      complete: 'Its files are complete.',
      again: `Then run: chancery up --home ${typed(context.cwd, dirname(settingsFile))} --detach`,
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
  return { exitCode: await commands.start(toGatewayStart(context, options, await settingsOf(context, options))) }
}

async function startDetached(context: CommandContext, options: Options): Promise<Result> {
  for (const name of ['check-config', 'init-state', 'online'])
    if (options.isSet(name)) throw usageError(`Give --detach or --${name}, not both.`)
  const envFile = await settingsOf(context, options)
  if (envFile === undefined)
    throw usageError('--detach needs --home or --env-file.', 'The log and the process id are written there.')
  const started = await startGatewayInBackground(context, resolve(context.cwd, envFile))
  return { data: { ...started }, text: describeStarted(context, started) }
}

/** The settings of --env-file, or of the folder. Without both the environment has them. */
async function settingsOf(context: CommandContext, options: Options): Promise<string | undefined> {
  const given = options.text('env-file')
  if (given !== undefined && options.isSet('home')) throw usageError('Give --home or --env-file, not both.')
  return given ?? (options.isSet('home') ? findSettingsFile(context, options, 'gateway.env') : undefined)
}

export function toGatewayStart(
  { json }: Pick<CommandContext, 'json'>,
  options: Options,
  envFile: string | undefined,
): GatewayStart {
  const [isCheck, isInit, online] = [
    options.isSet('check-config'),
    options.isSet('init-state'),
    options.isSet('online'),
  ]
  if (isCheck && isInit) throw usageError('Give --check-config or --init-state, not both.')
  if (online && !isCheck) throw usageError('--online goes with --check-config.')
  const action = isCheck ? 'check-config' : isInit ? 'init-state' : 'start'
  return envFile === undefined ? { action, json, online } : { action, json, online, envFile }
}
