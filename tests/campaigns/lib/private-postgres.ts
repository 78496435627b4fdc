import { setTimeout as pause } from 'node:timers/promises'
import { startFaultProxy, startTemporaryPostgres, startTemporaryStandby } from '@chancery/testkit'
import type { FaultProxy, TemporaryPostgres, TemporaryStandby, TestDatabase } from '@chancery/testkit'
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

/** A primary with a synchronous standby, and one address that always connects to the current primary. */
interface ReplicatedServer {
  /** The address for instances; it survives a failover. */
  readonly url: string
  /** Direct address of the current primary. */
  readonly primaryUrl: string
  /** Promotes the standby. The old primary is killed before, or cut off and killed after the promotion. */
  failOver(how: 'killed' | 'cut off'): Promise<void>
  /** Cuts off the standby, so that commits must not be acknowledged. A failover ends this. */
  starveStandby(): void
  /** Creates a new standby for the current primary and waits until it is synchronous. */
  restoreStandby(): Promise<void>
  remove(): Promise<void>
}

const STANDBY = 'standby'
const SYNC_ATTEMPTS = 400

export async function startReplicatedServer(): Promise<ReplicatedServer> {
  let primary: TemporaryPostgres = await startTemporaryPostgres()
  let standby: TemporaryStandby | undefined
  const proxy: FaultProxy = await startFaultProxy({ host: '127.0.0.1', port: primary.port })
  /** Between primary and standby. */
  const link: FaultProxy = await startFaultProxy({ host: '127.0.0.1', port: primary.port })
  const server: ReplicatedServer = {
    url: `postgresql://postgres@127.0.0.1:${proxy.port}/postgres`,
    get primaryUrl() {
      return primary.url
    },
    async failOver(how) {
      const next = standby
      if (next === undefined) throw new Error('there is no standby')
      const old = primary
      proxy.isolate(true)
      if (how === 'killed') await old.kill()
      // Delayed data is lost when the proxy closes.
      link.isolate(true)
      await next.promote()
      primary = next
      standby = undefined
      proxy.retarget({ host: '127.0.0.1', port: next.port })
      proxy.isolate(false)
      await old.remove()
    },
    starveStandby: () => link.stall(true),
    async restoreStandby() {
      link.retarget({ host: '127.0.0.1', port: primary.port })
      link.stall(false)
      link.isolate(false)
      standby = await startTemporaryStandby(link, STANDBY)
      await onServer(primary, `alter system set synchronous_standby_names = '${STANDBY}'`, 'select pg_reload_conf()')
      await awaitSynchronous(primary)
    },
    async remove() {
      await proxy.close()
      await link.close()
      await standby?.remove()
      await primary.remove()
    },
  }
  await server.restoreStandby()
  return server
}

async function awaitSynchronous(primary: TemporaryPostgres): Promise<void> {
  for (let attempt = 0; attempt < SYNC_ATTEMPTS; attempt += 1) {
    const [row] = await onServer(primary, "select count(*) as n from pg_stat_replication where sync_state = 'sync'")
    if (Number(row?.['n']) === 1) return
    await pause(25)
  }
  throw new Error('the standby did not become synchronous')
}

async function onServer(server: TemporaryPostgres, ...statements: string[]): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: server.url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    let rows: Record<string, unknown>[] = []
    for (const statement of statements) rows = (await client.query<Record<string, unknown>>(statement)).rows
    return rows
  } finally {
    await client.end()
  }
}
