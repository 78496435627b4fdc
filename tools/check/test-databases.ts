import { constants } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import { freemem } from 'node:os'
import { makeTemplate, startTemporaryPostgres } from '@chancery/testkit'

const MEMORY_FOLDER = '/dev/shm'
const GIB = 2 ** 30
const NEEDED_BYTES = 4 * GIB

const undo: (() => Promise<void>)[] = []

/** Before the tests on PostgreSQL: a server for this run, and one migrated database, which theirs are copies of. */
export async function setup(): Promise<void> {
  if (process.env['CHANCERY_TEST_POSTGRES'] === undefined && (await hasMemoryFolder())) {
    const server = await startTemporaryPostgres(MEMORY_FOLDER)
    undo.push(() => server.remove())
    process.env['CHANCERY_TEST_POSTGRES'] = server.url
    undo.push(async () => void delete process.env['CHANCERY_TEST_POSTGRES'])
  }
  undo.push(await makeTemplate())
}

export async function teardown(): Promise<void> {
  for (const step of undo.splice(0).toReversed()) await step()
}

/** The same server with the same settings, but a flush costs nothing in memory: the tests take half the time. */
async function hasMemoryFolder(): Promise<boolean> {
  try {
    await access(MEMORY_FOLDER, constants.W_OK)
    const { bavail, bsize } = await statfs(MEMORY_FOLDER)
    return bavail * bsize > NEEDED_BYTES && freemem() > 2 * NEEDED_BYTES
  } catch {
    // No such folder: the server on the usual port is used.
    return false
  }
}
