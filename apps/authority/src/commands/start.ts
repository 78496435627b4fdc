import { openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  DescriptorOutput,
  WRONG_SETTINGS,
  createLog,
  readProcessSettings,
  runService,
  superviseWorkers,
  systemIds,
} from '@chancery/service-kit'
import type { Log, SettingSources, WorkerStart } from '@chancery/service-kit'
import { startAuthority } from '../app.ts'
import { DatabaseUnavailableError } from '../database/errors.ts'
import { translateDatabaseError } from '../database/open.ts'
import { type CommandArguments, explain, isOperatorError } from './key-succession.ts'
import { type AuthoritySettings, readAuthoritySettings } from '../settings/authority-settings.ts'

export interface StartArguments extends CommandArguments {
  /** Appends the log to this file instead of standard output, where a command prints other text. */
  readonly logFile?: string
}

/** What each worker gets: the sources that the supervisor read. */
interface WorkerBegin {
  readonly sources: Omit<SettingSources, 'env'>
  readonly logFile: string | undefined
  /** Workers are instances of this name with their number. A worker that replaces another has the same name. */
  readonly instance: string
}

const FINISH_SECONDS = 25
/** What the workers may take for their own exit, after the limits of a stop. */
const SPARE_SECONDS = 5

/** Runs an authority in the foreground until a signal. Returns the exit code. */
export async function start(args: StartArguments): Promise<number> {
  let sources: WorkerBegin['sources'] = { flags: args.flags }
  const {
    values: settings,
    problems,
    notes,
  } = await readProcessSettings(args, ({ env, ...read }) => {
    sources = read
    return readAuthoritySettings({ ...read, env })
  })
  explain(problems)
  if (settings === undefined) return WRONG_SETTINGS
  const { logFile } = args
  const log = openLog(settings, logFile)
  for (const note of notes) log.warn(note)
  if (settings.workers === 1) return serve(settings, log)
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const instance = settings.instanceId ?? systemIds.hex(12)
  return superviseWorkers({
    log,
    workers: settings.workers,
    file: fileURLToPath(new URL(`worker-main.${extension}`, import.meta.url)),
    begin: (_worker, send) => send({ sources, logFile, instance } satisfies WorkerBegin),
    operations: () => ({}),
    stopSeconds: settings.drainSeconds + FINISH_SECONDS + SPARE_SECONDS,
  })
}

/** Runs one of several workers. */
export async function serveWorker(given: WorkerStart<WorkerBegin>): Promise<number> {
  const { sources, logFile, instance } = given.begin
  const { values, problems } = readAuthoritySettings({ ...sources, env: process.env })
  explain(problems)
  if (values === undefined) return WRONG_SETTINGS
  const settings = { ...values, instanceId: instance }
  return serve(settings, openLog(settings, logFile).child({ worker: given.worker }), given)
}

function openLog({ logFormat, logLevel }: AuthoritySettings, logFile: string | undefined): Log {
  const format = logFormat ?? (process.stdout.isTTY && logFile === undefined ? 'text' : 'json')
  const file = logFile === undefined ? {} : { destination: new DescriptorOutput(openSync(logFile, 'a', 0o600)) }
  const isOutage = (error: Error): boolean => translateDatabaseError(error) instanceof DatabaseUnavailableError
  return createLog({ level: logLevel, format, isOutage, ...file })
}

function serve(settings: AuthoritySettings, log: Log, worker?: WorkerStart<WorkerBegin>): Promise<number> {
  return runService({
    log,
    drainSeconds: settings.drainSeconds,
    finishSeconds: FINISH_SECONDS,
    ...(worker === undefined ? {} : { process: worker.process }),
    start: async (stopped) => {
      try {
        const running = await startAuthority(settings, {
          log,
          service: { stopped },
          ...(worker === undefined ? {} : { worker }),
        })
        worker?.started()
        return running
      } catch (error) {
        if (isOperatorError(error)) explain([error.message])
        throw error
      }
    },
  })
}
