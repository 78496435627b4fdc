import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { FileOutbox, InUseError } from '@chancery/sdk/nodejs'
import { CommandError } from '../../errors/failure.ts'

/** Sessions of one server at the same time, each with its own outbox. */
const MOST_SLOTS = 64

export interface Slot {
  readonly name: string
  readonly outbox: FileOutbox
}

/** Opens the first outbox that no other process uses. It may have records of a session that was killed. */
export async function openFreeSlot(folder: string): Promise<Slot> {
  for (let slot = 1; slot <= MOST_SLOTS; slot += 1) {
    const name = String(slot)
    const outbox = await openSlot(join(folder, name))
    if (outbox !== undefined) return { name, outbox }
  }
  const message = `${MOST_SLOTS} guards of this server are running.`
  throw new CommandError({ code: 'too_many_guards', message, hint: 'Stop one of them.' })
}

/** Calls `finish` with every other outbox that no process uses and that has records. */
export async function finishAbandoned(
  folder: string,
  own: string,
  finish: (outbox: FileOutbox) => Promise<void>,
): Promise<void> {
  const names = (await readdir(folder)).filter((name) => /^\d{1,2}$/.test(name) && name !== own)
  for (const name of names) {
    const files = await readdir(join(folder, name))
    if (!files.some((file) => file.endsWith('.json'))) continue
    const outbox = await openSlot(join(folder, name))
    if (outbox === undefined) continue
    try {
      await finish(outbox)
    } finally {
      outbox.close()
    }
  }
}

async function openSlot(folder: string): Promise<FileOutbox | undefined> {
  try {
    return await FileOutbox.open(folder)
  } catch (error) {
    if (error instanceof InUseError) return undefined
    throw error
  }
}
