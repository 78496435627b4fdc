import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startFaultProxy, startTemporaryPostgres, startTemporaryRedis } from '@chancery/testkit'
import { type InstancesOptions, openFaultInstances } from '../campaigns/faults/fault-instances.ts'
import { mountSmallDisk } from '../campaigns/lib/small-disk.ts'
import { announcedKey, silentPartner } from './long-outages.ts'
import { openObserved } from './observed-services.ts'
import { Opened, type Outage } from './opened.ts'
import { tokenUnplugged } from './unplugged-token.ts'

/** Leaves less than 40 MB of a disk of 80 MB, and more than 20 MB. */
const OF_OTHERS = 45_000_000

/** Two instances on one PostgreSQL server, reached through a proxy. */
function onPostgres(
  scrapes: number,
  parts: {
    readonly options?: Partial<InstancesOptions>
    readonly prepare?: (opened: Opened) => Promise<Partial<InstancesOptions>>
    readonly break: (on: {
      readonly server: Awaited<ReturnType<typeof startTemporaryPostgres>>
      readonly proxy: Awaited<ReturnType<typeof startFaultProxy>>
    }) => { begin(): Promise<void>; end(): Promise<void> }
  },
): Outage {
  return {
    scrapes,
    open: () =>
      Opened.around(async (opened) => {
        const server = await startTemporaryPostgres()
        opened.add(() => server.remove())
        const proxy = await startFaultProxy({ host: '127.0.0.1', port: server.port })
        opened.add(() => proxy.close())
        const through = new URL(server.url)
        through.port = String(proxy.port)
        const instances = await openFaultInstances({
          databaseUrl: () => through.href,
          directUrl: server.url,
          instances: 2,
          ...parts.options,
        })
        opened.add(() => instances.close())
        const observed = await openObserved(instances)
        opened.add(() => observed.close())
        return { targets: observed.targets, ...parts.break({ server, proxy }), close: () => opened.close() }
      }),
  }
}

const databaseStopped = (scrapes: number): Outage =>
  onPostgres(scrapes, {
    options: { settings: { NA_ANCHOR_INTERVAL_SECONDS: '60' } },
    break: ({ server }) => ({ begin: () => server.stop(), end: () => server.start() }),
  })

/** Every piece waits, so that a read takes 0.3 s. */
const databaseSlow = onPostgres(44, {
  break: ({ proxy }) => ({
    begin: async () => void (proxy.delayMs = 150),
    end: async () => void (proxy.delayMs = 0),
  }),
})

/** Redis counts the limits of two instances and the quotas of the gateway. */
const redisStopped: Outage = {
  scrapes: 44,
  open: () =>
    Opened.around(async (opened) => {
      const redis = await startTemporaryRedis()
      opened.add(() => redis.stop())
      const server = await startTemporaryPostgres()
      opened.add(() => server.remove())
      const home = await mkdtemp(join(tmpdir(), 'chancery-redis-'))
      opened.add(() => rm(home, { recursive: true, force: true }))
      await writeFile(join(home, 'redis'), redis.url, { mode: 0o600 })
      const instances = await openFaultInstances({
        databaseUrl: () => server.url,
        settings: { RATE_LIMIT_STORE: 'redis', REDIS_URL: redis.url },
        instances: 2,
      })
      opened.add(() => instances.close())
      const observed = await openObserved(instances, {
        GATEWAY_REDIS_URL_FILE: join(home, 'redis'),
        GATEWAY_QUOTA_NAMESPACE: 'outages',
      })
      opened.add(() => observed.close())
      return {
        targets: observed.targets,
        begin: () => redis.stop(),
        end: () => redis.start(),
        close: () => opened.close(),
      }
    }),
}

/** One instance of SQLite on a small disk, which others fill. */
function onSmallDisk(scrapes: number, repeats: number, left: 'little' | 'nothing'): Outage {
  return {
    scrapes,
    repeats,
    open: () =>
      Opened.around(async (opened) => {
        const disk = await mountSmallDisk(80)
        opened.add(() => disk.remove())
        const instances = await openFaultInstances({
          databaseUrl: () => '',
          settings: {
            DB_PATH: join(disk.folder, 'authority.db'),
            NA_HA_MODE: 'off',
            RATE_LIMIT_STORE: 'memory',
            ...(left === 'little' ? { NA_DISK_FREE_BYTES: '20000000' } : {}),
          },
          instances: 1,
        })
        opened.add(() => instances.close())
        const observed = await openObserved(instances)
        opened.add(() => observed.close())
        const filler = join(disk.folder, 'of-others')
        return {
          targets: observed.targets,
          begin: () => (left === 'nothing' ? disk.fill() : writeFile(filler, Buffer.alloc(OF_OTHERS, 1))),
          end: () => (left === 'nothing' ? disk.free() : rm(filler)),
          close: () => opened.close(),
        }
      }),
  }
}

/** The clock of one of two instances is 90 s ahead. */
const clockWrong: Outage = {
  scrapes: 20,
  open: () =>
    Opened.around(async (opened) => {
      const folder = await mkdtemp(join(tmpdir(), 'chancery-clock-'))
      opened.add(() => rm(folder, { recursive: true, force: true }))
      const file = join(folder, 'clock')
      await writeFile(file, '0')
      const server = await startTemporaryPostgres()
      opened.add(() => server.remove())
      const instances = await openFaultInstances({
        databaseUrl: () => server.url,
        settings: { NA_CLOCK_CHECK: 'on' },
        settingsOf: (index) => (index === 1 ? { CHANCERY_MOVED_CLOCK_FILE: file } : {}),
        instances: 2,
      })
      opened.add(() => instances.close())
      const observed = await openObserved(instances)
      opened.add(() => observed.close())
      return {
        targets: observed.targets,
        begin: () => writeFile(file, '90000'),
        end: () => writeFile(file, '0'),
        close: () => opened.close(),
      }
    }),
}

export const OUTAGES: ReadonlyMap<string, Outage> = new Map([
  ['database-75-seconds', databaseStopped(5)],
  ['database-10-minutes', databaseStopped(40)],
  ['database-slow', databaseSlow],
  ['redis', redisStopped],
  ['token', tokenUnplugged],
  ['disk-low', onSmallDisk(6, 60, 'little')],
  ['disk-full', onSmallDisk(12, 40, 'nothing')],
  ['clock', clockWrong],
  ['partner-silent', silentPartner],
  ['key-not-followed', announcedKey],
])
