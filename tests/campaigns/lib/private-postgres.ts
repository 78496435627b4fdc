import { type TestDatabase, startTemporaryPostgres } from '@chancery/testkit'
import pg from 'pg'

/** A PostgreSQL server for one campaign, so that users of the shared server do not affect it. */
export interface OwnServer {
  createDatabase(): Promise<TestDatabase>
  /** Runs statements of an administrator, one after the other. */
  command(...statements: readonly string[]): Promise<void>
  remove(): Promise<void>
}

export async function startOwnServer(): Promise<OwnServer> {
  const server = await startTemporaryPostgres()
  let made = 0
  const command = async (...statements: readonly string[]): Promise<void> => {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    try {
      for (const statement of statements) await client.query(statement)
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
    command,
    remove: () => server.remove(),
  }
}
