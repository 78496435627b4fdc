import { readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isJsonObject, readInstant, readJson, writeInstant, writeJson } from '@chancery/protocol'
import type { Instant, JsonObject } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import { FOR_ALL, replaceFile, typed } from '../../files/files.ts'
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

const fileOf = (home: string): string => join(home, 'demo.json')

export async function writeDemoState(home: string, { createdAt, ...state }: DemoState): Promise<void> {
  await replaceFile(fileOf(home), `${writeJson({ ...state, createdAt: writeInstant(createdAt) })}\n`, FOR_ALL)
}

/** Returns the state of the demo in this folder, or undefined when the folder has no demo. */
export async function findDemoState(home: string): Promise<DemoState | undefined> {
  const text = await readFile(fileOf(home), 'utf8').catch(() => undefined)
  const value = text === undefined ? undefined : parse(text)
  const written = value?.['createdAt']
  const createdAt = typeof written === 'string' ? readInstant(written) : undefined
  if (value === undefined || createdAt === undefined) return undefined
  const kind = value['kind'] === 'two' ? 'two' : 'one'
  return { kind, port: Number(value['port']), createdAt, isComplete: value['isComplete'] === true }
}

function parse(text: string): JsonObject | undefined {
  try {
    const value = readJson(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

const NAMES: Readonly<Record<DemoKind, string>> = { one: 'one network', two: 'two companies' }

/** Checks whether the folder can be used, before anything is made. Returns the state of a demo to continue. */
export async function checkDemoFolder(
  context: CommandContext,
  home: string,
  { kind, isReset }: { readonly kind: DemoKind; readonly isReset: boolean },
): Promise<DemoState | undefined> {
  const state = await findDemoState(home)
  const folder = typed(context.cwd, home)
  if (state === undefined) {
    await refuseOtherFiles(home, folder)
    return undefined
  }
  refuseRunning(home, folder, state)
  if (isReset) return undefined
  if (!state.isComplete) return undefined
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

/**
 * Makes the folder of a new demo. An earlier demo that is not continued is deleted.
 */
export async function makeDemoFolder(home: string, state: DemoState): Promise<() => Promise<void>> {
  if ((await findDemoState(home)) !== undefined) await rm(home, { recursive: true, force: true })
  const { undo } = await prepareHome(home, false, state.createdAt)
  await writeDemoState(home, state)
  return undo
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
  const lock = new DatabaseSync(join(home, 'demo.lock'), { timeout: 500 })
  try {
    lock.exec('pragma locking_mode = exclusive; begin exclusive')
    return () => lock.close()
  } catch {
    lock.close()
    return undefined
  }
}
