import { type Finding, bad, good } from '@chancery/service-kit'
import type { Database } from '../../database/database.ts'
import { countSyncStandbys, readServerSettings } from '../../database/postgres/server-settings.ts'
import { NO_STANDBY } from '../../features/findings/index.ts'

const NAMES = 'synchronous_standby_names'

/**
 * A commit waits for as long as the standby that the server requires is away, also on a standby that was promoted with
 * this setting. `maySee`: without pg_read_all_stats no standby is visible.
 */
export async function checkStandby(
  database: Database,
  { haMode, maySee }: { readonly haMode: boolean; readonly maySee: boolean },
): Promise<Finding> {
  const standbys = await countSyncStandbys(database)
  const names = (await readServerSettings(database, [NAMES])).get(NAMES) ?? ''
  if (standbys === 0 && names !== '' && maySee)
    return bad(
      'sync-standby',
      `Each commit waits for a synchronous standby (${NAMES} is ${names}), and none is connected`,
      'Start the standby, or go on without it: docs/operate/incidents.md#lost-synchronous-standby.',
      { effect: 'Changes get 503, and the instances are not ready.' },
    )
  return standbys > 0 || !haMode ? good('sync-standby', `${standbys}`) : NO_STANDBY
}
