import { readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Instant, readInstant, writeInstant, writeJson } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { FOR_ALL, replaceFile, typed } from '../../files/files.ts'
import { parseJsonObject } from '../../files/json-file.ts'
import { homeProblem } from '../init/settings-files.ts'
import { prepareHome } from '../init/home.ts'

export type DemoKind = 'one' | 'two'

/** What the folder of a demo says about itself, in demo.json. */
export interface DemoState {
  readonly kind: DemoKind
  readonly port: number
  readonly createdAt: Instant
  /** False until all data is there: an incomplete demo is deleted at the next start. */
  readonly isComplete: boolean
}

/** A demo uses up to three ports in a row. */
export const MAX_PORT = 65_533

const fileOf = (home: string): string => join(home, 'demo.json')

export async function writeDemoState(home: string, { createdAt, ...state }: DemoState): Promise<void> {
  await replaceFile(fileOf(home), `${writeJson({ ...state, createdAt: writeInstant(createdAt) })}\n`, FOR_ALL)
}

/** Returns the state of the demo in this folder, or undefined when the folder has no demo. */
export async function findDemoState(home: string): Promise<DemoState | undefined> {
  const text = await readFile(fileOf(home), 'utf8').catch(() => undefined)
  const value = text === undefined ? undefined : parseJsonObject(text)
  const written = value?.['createdAt']
  const createdAt = typeof written === 'string' ? readInstant(written) : undefined
  const port = Number(value?.['port'])
  const isPort = Number.isInteger(port) && port >= 1 && port <= MAX_PORT
  if (value === undefined || createdAt === undefined || !isPort) return undefined
  const kind = value['kind'] === 'two' ? 'two' : 'one'
  return { kind, port, createdAt, isComplete: value['isComplete'] === true }
}

const NAMES: Readonly<Record<DemoKind, string>> = { one: 'one network', two: 'two companies' }

/** Checks whether the folder can be used, before anything is made. Returns the state of a demo to continue. */
export async function checkDemoFolder(
  context: CommandContext,
  home: string,
  { kind, isReset }: { readonly kind: DemoKind; readonly isReset: boolean },
): Promise<DemoState | undefined> {
  const problem = homeProblem(home)
  if (problem !== undefined) throw usageError(problem)
  const state = await findDemoState(home)
  const folder = typed(context.cwd, home)
  if (state === undefined) {
    await refuseOtherFiles(home, folder)
    return undefined
  }
  refuseRunning(home, folder, state)
  if (isReset || !state.isComplete) {
    await refuseAddedFiles(home, folder)
    return undefined
  }
  if (state.kind !== kind)
    throw new CommandError({
      code: 'demo_exists',
      message: `${folder} contains a demo of ${NAMES[state.kind]}.`,
      hint: `${state.kind === 'two' ? 'Add' : 'Leave out'} --two to continue it, add --reset to delete it, or choose another folder with --home.`,
    })
  return state
}

/** Other networks have real keys, so a folder without demo.json is never deleted. */
async function refuseOtherFiles(home: string, folder: string): Promise<void> {
  const found = await readdir(home).catch(() => [])
  if (found.length === 0) return
  throw new CommandError({
    code: 'folder_in_use',
    message: `${folder} contains other files and no demo.`,
    hint: 'Choose a new or empty folder with --home.',
  })
}

const LOCK = 'demo.lock'
/** Names of everything that a demo creates in its folder, with drafts of replaced files. */
const MADE: readonly RegExp[] = [
  /^(?:keys|nodes|gateway|callers|service|agent|demo-bank|demo-freight)$/,
  /^(?:genesis|operators|agent|demo)\.json$/,
  /^authority\.[a-z.-]+$/,
  /^(?:chancery\.toml|demo\.lock(?:-journal)?|\.[a-z.]+\.[0-9a-f]{12})$/,
]

/** A person may have put files into the folder. They are never deleted. */
async function refuseAddedFiles(home: string, folder: string): Promise<void> {
  const names = await readdir(home)
  const [first, ...more] = names.filter((name) => !MADE.some((pattern) => pattern.test(name))).sort()
  if (first === undefined) return
  throw new CommandError({
    code: 'folder_in_use',
    message: `${folder} contains files that the demo did not make: ${[first, ...more.slice(0, 4)].join(', ')}.`,
    hint: 'Nothing was deleted. Move these files away, or choose another folder with --home.',
  })
}

/**
 * Makes the folder of a new demo, and locks it. An earlier demo that is not continued is deleted, after the lock, so that
 * a demo that starts at the same time is never deleted.
 */
export async function makeDemoFolder(home: string, state: DemoState): Promise<() => Promise<void>> {
  if ((await findDemoState(home)) === undefined) {
    const { undo } = await prepareHome(home, false, state.createdAt)
    await writeDemoState(home, state)
    holdDemo(home)
    return undo
  }
  holdDemo(home)
  // The state stays, and is incomplete: the next start completes an interrupted deletion.
  await writeDemoState(home, { ...state, isComplete: false })
  const kept = ['demo.json', LOCK, `${LOCK}-journal`]
  for (const name of await readdir(home))
    if (!kept.includes(name) && MADE.some((pattern) => pattern.test(name)))
      await rm(join(home, name), { recursive: true, force: true })
  return () => Promise.resolve()
}

function refuseRunning(home: string, folder: string, { port }: DemoState): void {
  const release = lockDemo(home)
  if (release === undefined)
    throw new CommandError({
      code: 'demo_running',
      message: `The demo in ${folder} is running already, at http://127.0.0.1:${port}/.`,
      hint: 'Use it there, stop it first, or choose another folder with --home.',
    })
  release()
}

/** Locks the folder until the process ends, so that two demos never use one database. */
export function holdDemo(home: string): void {
  const release = lockDemo(home)
  if (release === undefined)
    throw new CommandError({
      code: 'demo_running',
      message: `Another process uses ${home}.`,
      hint: 'Stop it first, or choose another folder with --home.',
    })
  // The listener also refers to the lock, which would end with its garbage collection.
  process.once('exit', release)
}

/** Locks the folder until the returned function is called. Undefined when another process has the lock. */
export function lockDemo(home: string): (() => void) | undefined {
  const lock = openLock(home)
  try {
    lock.exec('pragma locking_mode = exclusive; begin exclusive')
    return () => lock.close()
  } catch {
    lock.close()
    return undefined
  }
}

function openLock(home: string): DatabaseSync {
  try {
    return new DatabaseSync(join(home, LOCK), { timeout: 500 })
  } catch (error) {
    const hint = 'Check the owner and the permissions of the folder, or choose another one with --home.'
    throw new CommandError({ code: 'file_error', message: `${home} cannot be written.`, hint }, { cause: error })
  }
}
