import { existsSync } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { isJsonObject, readInstant } from '@chancery/protocol'
import type { Arguments, Options } from '../../arguments/options.ts'
import { timeSpan } from '../../arguments/time-span.ts'
import { findConfig } from '../../connection/target.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { readText, typed } from '../../files/files.ts'
import { parseJsonObject } from '../../files/json-file.ts'
import { loadSavedNetworks } from '../../files/saved-networks.ts'
import { findPortProblem, waitUntilPassed } from '../../connection/ports.ts'
import { type Result, plural } from '../../output/screen.ts'
import { startGatewayInBackground } from '../gateway/start-in-background.ts'
import { describeBackground, startInBackground } from './background.ts'
import { type Place, SERVICES, type ServiceName, findRunning, forget, isAlive, logFile } from './running.ts'
import { authorityAt } from './start-authority.ts'

const MARKS: Readonly<Record<ServiceName, string>> = {
  authority: 'authority.env',
  gateway: 'gateway.env',
  node: 'certificate.json',
}

/** The service of a folder, by the file that its command reads; undefined when there is none. */
export function serviceIn(folder: string): Place | undefined {
  const name = SERVICES.find((each) => existsSync(join(folder, MARKS[each])))
  return name === undefined ? undefined : { name, folder }
}

/** What to start: a settings file, or the folder of a node. */
export interface ServiceToStart {
  readonly kind: ServiceName
  readonly settings: string
}

/** Starts a service as a process that continues after this command, and returns when it is ready. */
export async function startFolder(context: CommandContext, { kind, settings }: ServiceToStart): Promise<Result> {
  const folder = kind === 'node' ? settings : dirname(settings)
  const place = { name: kind, folder }
  const running = await findRunning(place)
  if (running !== undefined)
    throw new CommandError({
      code: 'service_runs',
      message: `The ${kind} of ${typed(context.cwd, folder)} runs already, with pid ${running.pid}.`,
      hint: `Stop it: chancery down --home ${typed(context.cwd, folder)}`,
    })
  if (kind === 'gateway') await startGatewayInBackground(context, settings)
  else if (kind === 'node') await startNode(context, folder)
  else {
    const { HOST: host = '127.0.0.1', PORT: port = '8443' } = await readSettings(settings)
    if ((await findPortProblem(host, Number(port))) === 'in_use')
      throw new CommandError({
        code: 'port_in_use',
        message: `Port ${port} is in use.`,
        hint: `PORT=${port} is in ${typed(context.cwd, settings)}.`,
      })
    await startInBackground(context, authorityAt(settings, host, port))
  }
  const started = await findRunning(place)
  const data = {
    service: kind,
    folder,
    pid: started?.pid ?? null,
    address: started?.address ?? null,
    log: logFile(place),
  }
  return { data, ids: [started?.address ?? folder], text: describeBackground(context, place) }
}

/** A node has no port: it is ready when it has begun to write its log, and still runs. */
async function startNode(context: CommandContext, folder: string): Promise<void> {
  const place = { name: 'node', folder } as const
  const before = await sizeOf(logFile(place))
  await startInBackground(context, {
    ...place,
    settings: folder,
    address: null,
    isReady: async () => (await sizeOf(logFile(place))) > before,
    afterFailure: { complete: 'Its key and its certificate are complete.', again: 'Then run the same command again.' },
  })
}

async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => undefined))?.size ?? 0
}

async function readSettings(file: string): Promise<Readonly<Record<string, string>>> {
  const lines = (await readText(file)).split('\n').map((line) => line.split('=', 2))
  return Object.fromEntries(lines.filter((pair): pair is [string, string] => pair.length === 2))
}

/** Runs `down`. */
export async function runDown(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const folders = options.isSet('all') ? await savedFolders(context) : await chosenFolders(context, options)
  const stopped: string[] = []
  const lines: string[] = []
  for (const folder of folders) {
    const place = serviceIn(folder)
    const running = place === undefined ? undefined : await findRunning(place)
    if (place === undefined || running === undefined) {
      lines.push(`${basename(folder)} is not running.`)
      continue
    }
    await stop(context, place, running.pid, options.isSet('force'))
    stopped.push(folder)
    lines.push(`${context.style.good('Stopped')} the ${place.name} of ${typed(context.cwd, folder)}.`)
  }
  if (lines.length === 0) lines.push('Nothing is saved.')
  return { data: { stopped }, ids: stopped, text: lines.join('\n') }
}

const STOP_SECONDS = 30

async function stop(context: CommandContext, place: Place, pid: number, isForced: boolean): Promise<void> {
  process.kill(pid, 'SIGTERM')
  const end = (): Promise<void> => (isAlive(pid) ? Promise.reject(new Error('runs')) : Promise.resolve())
  let hasEnded = await waitUntilPassed(end, STOP_SECONDS)
  if (!hasEnded && isForced) {
    process.kill(pid, 'SIGKILL')
    hasEnded = await waitUntilPassed(end, 5)
  }
  if (hasEnded) return forget(place)
  throw new CommandError({
    code: 'service_not_stopped',
    message: `The ${place.name} with pid ${pid} did not end within ${plural(STOP_SECONDS, 'second')}.`,
    hint: `Its log: chancery logs --home ${typed(context.cwd, place.folder)}. Then add --force.`,
  })
}

async function savedFolders(context: CommandContext): Promise<readonly string[]> {
  const { networks } = await loadSavedNetworks(context)
  return Object.values(networks).flatMap(({ home }) => (home === undefined ? [] : [home]))
}

async function chosenFolders(context: CommandContext, options: Options): Promise<readonly string[]> {
  const given = options.list('home')
  if (given.length > 0) return given.map((home) => resolve(context.cwd, home))
  const { paths } = await findConfig(context, options)
  if (paths.home !== undefined) return [paths.home]
  throw usageError('No folder is selected.', 'Select one: chancery use ./folder. Or give --home.')
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const

/** Runs `logs`. */
export async function runLogs(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const [folder = ''] = await chosenFolders(context, options)
  const place = serviceIn(folder)
  const file = place === undefined ? undefined : logFile(place)
  if (file === undefined || !existsSync(file)) {
    const unit = join(folder, 'chancery-authority.service')
    if (existsSync(unit))
      return { data: { command: ['journalctl', '-u', basename(unit)] }, text: `journalctl -u ${basename(unit)}` }
    throw new CommandError({
      code: 'no_log',
      message: `${typed(context.cwd, folder)} has no log of a service.`,
      hint: `Start it in the background: chancery up --home ${typed(context.cwd, folder)} --detach`,
    })
  }
  const seconds = timeSpan(options, 'since', { unit: 's', min: 1, max: 31_536_000 })
  const least = LEVELS.findIndex((each) => each === options.text('level'))
  const from = seconds === undefined ? undefined : context.now() - BigInt(seconds) * 1_000_000n
  let at = await printLines(context, file, 0, (line) => isWanted(line, from, least))
  const end = context.stop()
  while (options.isSet('follow') && !end.aborted) {
    await context.sleep(500, end)
    at = await printLines(context, file, at, (line) => isWanted(line, undefined, least))
  }
  return {}
}

async function printLines(
  { stdout }: CommandContext,
  file: string,
  start: number,
  isShown: (line: string) => boolean,
): Promise<number> {
  const size = await sizeOf(file)
  // A file that was replaced begins again.
  const from = size < start ? 0 : start
  if (size === from) return size
  const handle = await open(file)
  try {
    // Half a line at the end is read again with its rest.
    let at = from
    for await (const line of handle.readLines({ start: from, end: size - 1, autoClose: false })) {
      at += Buffer.byteLength(line) + 1
      if (at <= size && isShown(line) && !stdout.write(`${line}\n`)) await stdout.drained()
    }
    return Math.min(at, size)
  } finally {
    await handle.close()
  }
}

/** Lines that are no JSON, such as the first words of a start, are always shown. */
function isWanted(line: string, from: bigint | undefined, least: number): boolean {
  const value = parseJsonObject(line)
  if (value === undefined || !isJsonObject(value)) return true
  const at = typeof value['time'] === 'string' ? readInstant(value['time']) : undefined
  if (from !== undefined && at !== undefined && at < from) return false
  return least < 0 || LEVELS.findIndex((each) => each === value['level']) >= least
}
