import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { visible } from '@chancery/protocol'
import {
  SettingsError,
  createLog,
  exitCodeOf,
  readProcessSettings,
  requireValues,
  runService,
  superviseWorkers,
  systemClock,
  systemIds,
  toError,
} from '@chancery/service-kit'
import type { Log, SettingsResult, WorkerStart } from '@chancery/service-kit'
import { type RunningGateway, startGateway } from '../app.ts'
import { checkConfiguration } from './check-configuration.ts'
import { initializeState } from './initialize-state.ts'
import { ConfigurationError, type LoadedFiles, loadFiles } from '../policy/load-files.ts'
import { type GatewaySettings, readGatewaySettings } from '../settings/gateway-settings.ts'
import { ToolError } from './state-command.ts'
import { StateError } from '../state/state-values.ts'
import type { GatewayBegin } from '../workers/trust-messages.ts'
import { openOwner } from './workers/owner.ts'
import { startWorker } from './workers/start-worker.ts'

/** What the workers may take for their own exit, after the limits of a stop. */
const SPARE_SECONDS = 5

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
    let sources: GatewayBegin['sources'] = { flags: {} }
    const result = await readProcessSettings({ flags: {}, envFile: args.envFile }, ({ env, ...read }) => {
      sources = read
      return readGatewaySettings({ ...read, env })
    })
    const settings = requireValues(result)
    if (args.action === 'init-state') {
      await initializeState(settings, { clock: systemClock, ids: systemIds })
      process.stdout.write(`The state was created: ${settings.stateFile ?? ''}\n`)
      return 0
    }
    return run(settings, result.notes, sources)
  })
}

async function run(
  settings: GatewaySettings,
  notes: readonly string[],
  sources: GatewayBegin['sources'],
): Promise<number> {
  const log = createLog({ level: settings.logLevel, format: 'json' })
  for (const note of notes) log.warn(note)
  if (settings.workers > 1) return supervise(settings, log, sources)
  const started = Promise.withResolvers<RunningGateway>()
  // A failed start reports its own error.
  started.promise.catch(() => undefined)
  process.on('SIGHUP', reloader(started.promise))
  const configuration = filesOf(settings)?.configuration
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

/** Runs workers, and in this process what they share. */
async function supervise(settings: GatewaySettings, log: Log, sources: GatewayBegin['sources']): Promise<number> {
  const owner = await openOwner(settings, filesOf(settings), { log, version: packageVersion(), sources })
  process.on('SIGHUP', reloader(Promise.resolve(owner)))
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  return superviseWorkers({
    log,
    workers: settings.workers,
    file: fileURLToPath(new URL(`./workers/worker-main.${extension}`, import.meta.url)),
    metrics: owner.metrics,
    begin: (worker, send) => owner.begin(worker, send),
    operations: (worker) => owner.operations(worker),
    onEnd: (worker) => owner.onEnd(worker),
    stopSeconds: settings.drainSeconds + settings.shutdownSeconds + SPARE_SECONDS,
    close: () => owner.close(),
  })
}

/** Runs one of several workers. */
export async function serveWorker(given: WorkerStart<GatewayBegin>): Promise<number> {
  return explained(async () => {
    const settings = requireValues(readGatewaySettings({ ...given.begin.sources, env: process.env }))
    const log = createLog({ level: settings.logLevel, format: 'json' }).child({ worker: given.worker })
    return runService({
      log,
      drainSeconds: settings.drainSeconds,
      finishSeconds: settings.shutdownSeconds,
      process: given.process,
      start: async () => {
        try {
          const running = await startWorker(settings, given, { log, version: packageVersion() })
          given.started()
          return running
        } catch (error) {
          explain(expectedLines(error) ?? [])
          throw error
        }
      },
    })
  })
}

/**
 * Runs one reload after another. A reload requested during the start waits for it, because the files may have been read
 * already.
 */
export function reloader(started: Promise<Pick<RunningGateway, 'reload'>>): () => void {
  let last: Promise<unknown> = started
  return () => {
    last = last.then(async () => (await started).reload())
    last.catch(() => undefined)
  }
}

/** Returns undefined in development mode, which has no policy. */
function filesOf(settings: GatewaySettings): LoadedFiles | undefined {
  if (settings.development) return undefined
  const { loaded, problems, warnings } = loadFiles(settings, systemClock.now())
  for (const warning of warnings) process.stderr.write(`chancery: warning: ${warning}\n`)
  if (loaded === undefined) throw new ConfigurationError(problems)
  return loaded
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
    return exitCodeOf(error)
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
