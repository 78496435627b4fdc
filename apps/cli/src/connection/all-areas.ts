import { type Client, type Connection, toAreas } from '@chancery/sdk'

/** Here alone, so that only commands that use it load all areas. */
export function allAreas(link: Connection): Client {
  return toAreas(link)
}
