import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isJsonObject } from '@chancery/protocol'
import { OWNER_ONLY, errorCode, readText, replaceFile } from '../../files/files.ts'
import { parseJsonObject } from '../../files/json-file.ts'
import { CommandError } from '../../errors/failure.ts'
import { packageVersion } from '../../process.ts'

/** The three services; each is the first word of the command that starts it. */
export const SERVICES = ['authority', 'gateway', 'node'] as const
export type ServiceName = (typeof SERVICES)[number]

export interface Place {
  readonly name: ServiceName
  /** Absolute. */
  readonly folder: string
}

/** A service that runs in the background, as its start wrote it down. */
export interface RunningService {
  readonly pid: number
  /** When the process began: another process may have its number by now. Null where the system does not say. */
  readonly started: string | null
  readonly address: string | null
}

export function logFile({ name, folder }: Place): string {
  return join(folder, `${name}.log`)
}

/** For other tools: the process id alone. */
export function pidFile({ name, folder }: Place): string {
  return join(folder, `${name}.pid`)
}

function runFile({ name, folder }: Place): string {
  return join(folder, 'run', `${name}.json`)
}

export async function noteRunning(place: Place, pid: number, address: string | null): Promise<void> {
  await mkdir(join(place.folder, 'run'), { recursive: true, mode: 0o700 })
  const facts = { pid, started: await beginOf(pid), address, version: packageVersion(), log: logFile(place) }
  await replaceFile(runFile(place), `${JSON.stringify(facts, undefined, 2)}\n`, OWNER_ONLY)
  await replaceFile(pidFile(place), `${pid}\n`, OWNER_ONLY)
}

/** The service of a folder, if its process is the one that was started. */
export async function findRunning(place: Place): Promise<RunningService | undefined> {
  const text = await readText(runFile(place)).catch((error: unknown) => {
    if (error instanceof CommandError && errorCode(error.cause) === 'ENOENT') return undefined
    throw error
  })
  const facts = text === undefined ? undefined : parseJsonObject(text)
  if (facts === undefined || !isJsonObject(facts)) return undefined
  const { pid, started = null, address = null } = facts
  if (typeof pid !== 'number' || !isAlive(pid)) return undefined
  if (started !== null && (await beginOf(pid)) !== started) return undefined
  return {
    pid,
    started: typeof started === 'string' ? started : null,
    address: typeof address === 'string' ? address : null,
  }
}

export async function forget(place: Place): Promise<void> {
  await rm(runFile(place), { force: true })
  await rm(pidFile(place), { force: true })
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // A process of another user is alive, too.
    return errorCode(error) === 'EPERM'
  }
}

/** Ticks after the start of the machine at which a process began. */
async function beginOf(pid: number): Promise<string | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The name before it may hold spaces and brackets.
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? null
}
