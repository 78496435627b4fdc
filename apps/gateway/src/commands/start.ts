import { readFileSync } from 'node:fs'
import { visible } from '@chancery/protocol'
import {
  SettingsError,
  createLog,
  readProcessSettings,
  requireValues,
  runService,
  systemClock,
  systemIds,
  toError,
} from '@chancery/service-kit'
import type { SettingsResult } from '@chancery/service-kit'
import { startGateway } from '../app.ts'
import type { RunningGateway } from '../app.ts'
import { checkConfiguration } from './check-configuration.ts'
import { initializeState } from './initialize-state.ts'
import { ConfigurationError } from '../policy/configuration-error.ts'
import { loadConfiguration } from '../policy/load-configuration.ts'
import type { Configuration } from '../policy/load-configuration.ts'
import { readGatewaySettings } from '../settings/gateway-settings.ts'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import { ToolError } from './state-command.ts'
import { StateError } from '../state/state-error.ts'

export interface StartArguments {
  readonly action: 'start' | 'check-config' | 'init-state'
  /** For check-config: print all problems as JSON. */
  readonly json: boolean
  /** For check-config: also call the configured addresses. */
  readonly online: boolean
  readonly envFile?: string
}

/** Runs `chancery gateway start` in all its forms. Returns the exit code. */
export async function start(args: StartArguments): Promise<number> {
  if (args.action === 'check-config') {
    const report = await checkConfiguration(await readSettings(args.envFile), {
      online: args.online,
      clock: systemClock,
    })
    const { problems, warnings } = report
    if (args.json) process.stdout.write(`${JSON.stringify({ ok: problems.length === 0, problems, warnings })}\n`)
    else if (problems.length === 0) process.stdout.write('The configuration is valid.\n')
    else explain(report.lines.slice(0, 1))
    if (!args.json) for (const warning of warnings) process.stderr.write(`chancery: warning: ${warning}\n`)
    return problems.length === 0 ? 0 : 1
  }
  return explained(async () => {
    const result = await readSettings(args.envFile)
    const settings = requireValues(result)
    if (args.action === 'init-state') {
      await initializeState(settings, { clock: systemClock, ids: systemIds })
      process.stdout.write(`The state was created: ${settings.stateFile ?? ''}\n`)
      return 0
    }
    return run(settings, result.notes)
  })
}

async function run(settings: GatewaySettings, notes: readonly string[]): Promise<number> {
  const log = createLog({ level: settings.logLevel, format: 'json' })
  for (const note of notes) log.warn(note)
  const started = Promise.withResolvers<RunningGateway>()
  // A failed start reports its own error.
  started.promise.catch(() => undefined)
  process.on('SIGHUP', reloader(started.promise))
  const configuration = configurationOf(settings)
  return runService({
    log,
    // The load balancer polls /ready. Open requests get the configured time after that.
    drainSeconds: settings.drainSeconds,
    finishSeconds: settings.shutdownSeconds,
    start: async () => {
      try {
        const running = await startGateway(settings, configuration, { log, version: packageVersion() })
        started.resolve(running)
        return running
      } catch (error) {
        started.reject(toError(error))
        const lines = expectedLines(error)
        if (lines !== undefined) explain(lines)
        throw error
      }
    },
  })
}

/**
 * Runs one reload after another. A reload requested during the start waits for it, because the files may have been read
 * already.
 */
export function reloader(started: Promise<RunningGateway>): () => void {
  let last: Promise<unknown> = started
  return () => {
    last = last.then(async () => (await started).reload())
    last.catch(() => undefined)
  }
}

/** Returns undefined in development mode, which has no policy. */
function configurationOf(settings: GatewaySettings): Configuration | undefined {
  if (settings.development) return undefined
  const { configuration, problems, warnings } = loadConfiguration(settings, systemClock.now())
  for (const warning of warnings) process.stderr.write(`chancery: warning: ${warning}\n`)
  if (configuration === undefined) throw new ConfigurationError(problems)
  return configuration
}

export function readSettings(envFile: string | undefined): Promise<SettingsResult<GatewaySettings>> {
  return readProcessSettings({ flags: {}, envFile }, readGatewaySettings)
}

/** Returns the settings, or throws a SettingsError with all problems. */
export async function loadSettings(envFile: string | undefined): Promise<GatewaySettings> {
  return requireValues(await readSettings(envFile))
}

async function explained(work: () => Promise<number>): Promise<number> {
  try {
    return await work()
  } catch (error) {
    const lines = expectedLines(error)
    if (lines === undefined) throw error
    explain(lines)
    return 1
  }
}

/** Returns the errors that an operator can fix, line by line, or undefined for a bug. */
export function expectedLines(error: unknown): readonly string[] | undefined {
  if (error instanceof SettingsError) return error.problems
  if (error instanceof ConfigurationError) return error.message.split('\n')
  if (error instanceof ToolError) return [error.message]
  if (error instanceof StateError) return [`GATEWAY_STATE_FILE: ${error.message}`]
  // A command that reads without a full check may find damage.
  if (error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR')
    return ['GATEWAY_STATE_FILE: cannot be read: it is damaged, or another process has locked it for too long']
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return ['GATEWAY_ADDR: is in use']
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT' && 'path' in error)
    return [`${visible(String(error.path), { maxLength: 256 })}: cannot be read: the file or folder does not exist`]
  return undefined
}

function explain(lines: readonly string[]): void {
  for (const line of lines) process.stderr.write(`chancery: the gateway does not start: ${line}\n`)
}

/** Returns the version, which all packages share. The file is next to both the sources and the build. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return /"version": *"([^"]+)"/.exec(text)?.[1] ?? 'unknown'
}
