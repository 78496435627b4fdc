import { chmod, mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Instant, writeSortable } from '@chancery/protocol'
import { CommandError } from '../../errors/failure.ts'
import { errorCode, toFailure } from '../../files/files.ts'
import { OPERATORS_FILE } from '../../files/operators-file.ts'

/** The files of one network, all below its home. */
export function homeFiles(home: string): HomeFiles {
  return {
    root: join(home, 'keys', 'root'),
    authority: join(home, 'keys', 'network-authority'),
    operator: join(home, 'keys', 'operator'),
    genesis: join(home, 'genesis.json'),
    settings: join(home, 'authority.env'),
    operators: join(home, OPERATORS_FILE),
    config: join(home, 'chancery.toml'),
    database: join(home, 'authority.db'),
  }
}

export interface HomeFiles {
  /** Key pairs, without extension. */
  readonly root: string
  readonly authority: string
  readonly operator: string
  readonly genesis: string
  readonly settings: string
  readonly operators: string
  readonly config: string
  readonly database: string
}

// A folder with one of these files was created by an earlier run.
const MARKS: readonly string[] = ['keys', 'genesis.json', 'authority.env', 'chancery.toml']

export interface PreparedHome {
  /** Where the earlier folder was moved to. */
  readonly movedTo: string | undefined
  /** Removes what was created, after a failure. An incomplete home would look complete. */
  readonly undo: () => Promise<void>
}

/**
 * Creates an empty folder that only its owner may enter. Keys are never overwritten: with `force` an earlier home is
 * moved aside as a whole. A folder without the files of a home is refused, so that a mistyped path moves nothing.
 */
export async function prepareHome(home: string, force: boolean, now: Instant): Promise<PreparedHome> {
  const found = await list(home)
  let [movedTo, topmost]: (string | undefined)[] = []
  if (found.length > 0) movedTo = await moveAside(home, found, force, now)
  try {
    // Only the home itself is closed to others, not its parent folders.
    topmost = await mkdir(dirname(home), { recursive: true })
    const made = await mkdir(home, { recursive: true, mode: 0o700 })
    topmost ??= made
    // An existing empty folder may be open to others.
    await chmod(home, 0o700)
  } catch (error) {
    throw toFailure(error, home, 'made')
  }
  const undo = async (): Promise<void> => {
    for (const name of await readdir(home)) await rm(join(home, name), { recursive: true, force: true })
    if (movedTo !== undefined) {
      await rmdir(home)
      await rename(movedTo, home)
    } else if (topmost !== undefined) await removeEmpty(home, topmost)
  }
  return { movedTo, undo }
}

/** Removes a folder and the parents that were created for it. A parent with other content stays. */
async function removeEmpty(home: string, topmost: string): Promise<void> {
  for (let at = home; ; at = dirname(at)) {
    try {
      await rmdir(at)
    } catch (error) {
      if (errorCode(error) === 'ENOTEMPTY') return
      throw error
    }
    if (at === topmost) return
  }
}

async function moveAside(home: string, found: readonly string[], force: boolean, now: Instant): Promise<string> {
  if (!found.some((name) => MARKS.includes(name))) {
    const hint = 'Choose a new or empty folder.'
    throw new CommandError({ code: 'folder_in_use', message: `${home} contains other files.`, hint })
  }
  if (!force) {
    const hint = 'Choose another folder, or add --force: the earlier one is then renamed, including its keys.'
    throw new CommandError({ code: 'home_exists', message: `${home} already contains a network.`, hint })
  }
  const aside = `${home}.old-${writeSortable(now).replaceAll(/[-:.]/g, '')}`
  if ((await list(aside)).length > 0)
    throw new CommandError({ code: 'file_exists', message: `${aside} exists already.` })
  await rename(home, aside).catch((error: unknown) => {
    throw toFailure(error, home, 'moved')
  })
  return aside
}

async function list(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw toFailure(error, folder, 'read')
  }
}
