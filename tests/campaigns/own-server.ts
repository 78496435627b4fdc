import { startThrowawayPostgres } from '@chancery/testkit'
import type { TestDatabase } from '@chancery/testkit'
import pg from 'pg'

/** A PostgreSQL server of a campaign's own: what others do on the shared one, or take from it, is not felt here. */
export interface OwnServer {
  createDatabase(): Promise<TestDatabase>
  remove(): Promise<void>
}

export async function startOwnServer(): Promise<OwnServer> {
  const server = await startThrowawayPostgres()
  let made = 0
  const command = async (text: string): Promise<void> => {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    try {
      await client.query(text)
    } finally {
      await client.end()
    }
  }
  return {
    createDatabase: async () => {
      const name = `campaign_${(made += 1)}`
      await command(`create database ${name}`)
      const url = new URL(server.url)
      url.pathname = `/${name}`
      return { settings: { DATABASE_URL: url.href }, drop: () => command(`drop database ${name} with (force)`) }
    },
    remove: () => server.remove(),
  }
}
