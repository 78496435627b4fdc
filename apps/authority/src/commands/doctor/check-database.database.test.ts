import { startTemporaryPostgres } from '@chancery/testkit'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { useOpenedDatabases } from '../../database/partitions/opened-databases.suite.ts'
import { checkStandby } from './check-database.ts'

const onPostgres = process.env['CHANCERY_TEST_DATABASE'] === 'postgres'

const { atEnd, open } = useOpenedDatabases()

it.runIf(onPostgres)('is bad when commits wait for a standby that is away, and names what to do', async () => {
  const server = await startTemporaryPostgres()
  atEnd(() => server.remove())
  const database = await open({ settings: { DATABASE_URL: server.url }, drop: async () => undefined })
  const check = (haMode = true, maySee = true) => checkStandby(database, { haMode, maySee })
  expect(await check()).toMatchObject({ status: 'warn', fix: expect.stringContaining('Set up a standby') })
  expect(await check(false)).toMatchObject({ status: 'good', found: '0' })
  await sql`alter system set synchronous_standby_names = '*'`.execute(database.read)
  await sql`select pg_reload_conf()`.execute(database.read)
  await expect
    .poll(() => check(false))
    .toMatchObject({
      status: 'bad',
      found: 'Each commit waits for a synchronous standby (synchronous_standby_names is *), and none is connected',
      fix: expect.stringContaining('docs/operate/incidents.md#lost-synchronous-standby'),
    })
  expect(await check(true, false)).toMatchObject({ status: 'warn' })
})
