import type { Job } from '@chancery/service-kit'
import type { Core } from '../core.ts'
import type { AuthoritySettings } from '../settings/authority-settings.ts'

type Parts = Pick<Core, 'database' | 'log'>
type Settings = Pick<AuthoritySettings, 'diskFreeBytes'>

/**
 * Before the first request: a disk may fill up soon after. A reserve that cannot be made does not stop the start; a
 * finding reports it.
 */
export async function keepReserve({ database, log }: Parts, { diskFreeBytes }: Settings): Promise<void> {
  try {
    await database.room.keep(diskFreeBytes)
  } catch (error) {
    log.error('the disk space for revocations could not be held', { error })
  }
}

/** Sees what other instances released, and makes the reserve again when there is room. */
export function reserveJob({ database }: Parts, { diskFreeBytes }: Settings): Job {
  return { name: 'disk-reserve', everySeconds: 5, run: () => database.room.keep(diskFreeBytes) }
}
