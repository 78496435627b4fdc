import { writeFile } from 'node:fs/promises'
import { createLog } from '@chancery/service-kit'
import { FIRST_LIST_HOURS, SuccessionRefused, draftFirstList, succeedKey } from './features/crl/index.ts'
import { StartRefused } from './genesis.ts'
import { readSettingsOrExplain } from './host-settings.ts'
import type { HostArguments } from './host-settings.ts'
import { openOffice } from './open-office.ts'
import { KeyUnavailable } from './signing/key-unavailable.ts'

export interface SuccessionArguments extends HostArguments {
  /** Only write the first list of the new key to this new file; the database stays as it is. */
  readonly firstList?: string
}

/** Hands the database over to the key of the new genesis block; run with the settings of the new key. */
export async function keySuccession(args: SuccessionArguments): Promise<number> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return 1
  try {
    const opened = await openOffice(settings, {
      log: createLog({ level: 'error', format: 'text' }),
      isSucceeding: true,
    })
    try {
      if (args.firstList !== undefined) {
        await writeFile(args.firstList, `${await draftFirstList(opened.office)}\n`, { flag: 'wx', mode: 0o644 })
        process.stdout.write(`the first list of ${settings.keyId}, to pin it with within ${FIRST_LIST_HOURS} hours\n`)
        return 0
      }
      const { formerKeyId, sequence, listsUntil } = await succeedKey(opened.office)
      const lines = [
        `${settings.keyId} has taken over from ${formerKeyId}: revocation list ${sequence}`,
        `${formerKeyId} signs its own list until ${listsUntil}; after that destroy it`,
        'start all instances with these settings',
      ]
      process.stdout.write(`${lines.join('\n')}\n`)
      return 0
    } finally {
      await opened.close()
    }
  } catch (error) {
    const isKnown =
      error instanceof SuccessionRefused || error instanceof StartRefused || error instanceof KeyUnavailable
    if (!isKnown) throw error
    process.stderr.write(`chancery: nothing was changed: ${error.message}\n`)
    return 1
  }
}
