import type { Connection } from '@chancery/sdk/internal'
import type { Client } from '@chancery/sdk/authority'
import { toAreas } from '@chancery/sdk/internal'

/** Here alone, so that only commands that use it load all areas. */
export function allAreas(link: Connection): Client {
  return toAreas(link)
}
