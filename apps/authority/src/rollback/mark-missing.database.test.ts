import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { good, silentLog } from '@chancery/service-kit'
import { ManualClock, accepted, createTestDatabase, refused, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority, TestDatabase } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkMarks } from '../commands/doctor/check-records.ts'
import { openFeatures } from '../features.ts'
import { type Published, PublishedListError } from '../recovery/published-lists.ts'
import { type Recovery, recoverState } from '../recovery/recover.ts'
import { openCore } from '../startup/open-core.ts'
import { forgetMarks } from './mark-memory.ts'

/** Decision 0020: a check that lost its memory is closed. */
describe('an authority whose mark is missing', () => {
  let folder: string
  let database: TestDatabase
  let clock: ManualClock
  const running: TestAuthority[] = []
  const mark = (name = 'one'): string => join(folder, `${name}.mark`)
  const start = async (files = mark()): Promise<TestAuthority> => {
    const na = await startTestAuthority({ clock, database, settings: { NA_HIGH_WATER_FILES: files } })
    running.push(na)
    return na
  }
  /** Time passes, so that a record is another one than before. */
  const write = async (na: TestAuthority): Promise<void> => {
    clock.advance(1)
    await na.core.rollback.writeMark()
  }
  const stop = async (na: TestAuthority): Promise<void> => {
    running.splice(running.indexOf(na), 1)
    await na.stop()
  }
  const begin = async (): Promise<void> => {
    const na = await start()
    await write(na)
    await stop(na)
  }
  const recover = async (settings: TestAuthority['settings'], published: Published = {}): Promise<Recovery> => {
    const opened = await openCore(settings, { log: silentLog, clock, isRecovering: true })
    try {
      return await recoverState({ ...opened.core, ...openFeatures(opened.core, settings) }, published)
    } finally {
      await opened.close()
    }
  }
  const loseMark = async (): Promise<TestAuthority> => {
    await begin()
    await rm(mark())
    return start()
  }
  const doctor = async ({ core, settings }: TestAuthority) =>
    checkMarks(core.database, settings, core.keys.all, clock.now())

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chancery-marks-'))
    clock = new ManualClock()
    database = await createTestDatabase()
  })
  afterEach(async () => {
    for (const na of running.splice(0)) await na.stop()
    await database.drop()
    await rm(folder, { recursive: true })
  })

  it('refuses every request and signs nothing, and says mark_missing', async () => {
    const na = await loseMark()
    const { details } = refused(await na.request('GET', '/readyz'), 503, 'service_not_ready')
    expect(details).toMatchObject({ signing_halted: ['mark_missing'], reasons: ['mark_missing'] })
    const body = { subject_id: 'member', roles: ['role:client'] }
    const refusal = refused(await na.as('privileged')('POST', '/admin/attestations', body), 503, 'service_unavailable')
    expect(refusal.details).toEqual({ reason: 'mark_missing' })
    refused(await na.request('GET', '/crl'), 503, 'service_unavailable')
    const { text } = await na.request('GET', '/health')
    expect(JSON.parse(text)).toMatchObject({ status: 'unhealthy', reasons: ['not_ready', 'mark_missing'] })
    expect((await na.features.health.reports.read()).findings).toContainEqual(
      expect.objectContaining({ check: 'high-water', status: 'bad', found: expect.stringMatching(/^mark_missing:/) }),
    )
  })

  it('writes no mark over the missing one, also after a restart', async () => {
    let na = await loseMark()
    await write(na)
    await stop(na)
    na = await start()
    refused(await na.request('GET', '/readyz'), 503, 'service_not_ready')
  })

  it('is what doctor reports, with no file, without the setting, and not with one of two', async () => {
    const na = await loseMark()
    expect(await doctor(na)).toEqual([
      expect.objectContaining({
        check: 'high-water',
        status: 'bad',
        found: expect.stringMatching(/^mark_missing: .*one\.mark cannot be found/),
      }),
    ])
    await recover(na.settings, { withoutMark: true })
    await stop(na)
    const both = await start(`${mark()},${mark('two')}`)
    expect(await doctor(both)).toEqual([
      expect.objectContaining(good('high-water', expect.stringMatching(/one\.mark of/) as unknown as string)),
      expect.objectContaining({ status: 'warn', found: expect.stringMatching(/two\.mark does not exist yet/) }),
    ])
    accepted(await both.request('GET', '/readyz'))
    await stop(both)
    const without = await start(',')
    expect(await doctor(without)).toEqual([
      expect.objectContaining({ status: 'bad', found: expect.stringMatching(/NA_HIGH_WATER_FILES names no file/) }),
    ])
    refused(await without.request('GET', '/readyz'), 503, 'service_not_ready')
  })

  it('is not recovered silently: the newest list of others, or a word that there is none', async () => {
    const na = await loseMark()
    await expect(recover(na.settings)).rejects.toThrow(PublishedListError)
    const { replayFloor } = await recover(na.settings, { withoutMark: true })
    expect(replayFloor).toBeGreaterThan(clock.now())
    accepted(await na.request('GET', '/readyz'))
    await stop(na)
    accepted(await (await start()).request('GET', '/readyz'))
  })

  it('is recovered with the newest list of others', async () => {
    const first = await start()
    const { text } = await first.request('GET', '/crl')
    await write(first)
    await stop(first)
    await rm(mark())
    const na = await start()
    await recover(na.settings, { crl: text })
    accepted(await na.request('GET', '/readyz'))
  })

  it('serves without files after a recovery that had none', async () => {
    await begin()
    const na = await start(',')
    await recover(na.settings, { withoutMark: true })
    await stop(na)
    accepted(await (await start(',')).request('GET', '/readyz'))
  })

  it('serves again when the mark is put back', async () => {
    const na = await start(mark('new-host'))
    await write(na)
    await stop(na)
    const other = await start()
    refused(await other.request('GET', '/readyz'), 503, 'service_not_ready')
    await stop(other)
    accepted(await (await start(`${mark()},${mark('new-host')}`)).request('GET', '/readyz'))
  })

  it('on a new host, while another instance runs, serves when that one has answered', async () => {
    const one = await start()
    await write(one)
    const two = await start(mark('two'))
    refused(await two.request('GET', '/readyz'), 503, 'service_not_ready')
    await write(two)
    refused(await two.request('GET', '/readyz'), 503, 'service_not_ready')
    await write(one)
    accepted(await two.request('GET', '/readyz'))
    await write(two)
    await stop(one)
    await stop(two)
    accepted(await (await start(mark('two'))).request('GET', '/readyz'))
  })

  it('is not answered for by an instance that is halted itself', async () => {
    const na = await loseMark()
    const two = await start(mark('two'))
    for (const each of [two, na, two, na]) await write(each)
    for (const each of [na, two]) refused(await each.request('GET', '/readyz'), 503, 'service_not_ready')
  })

  it('is no other than a new one when nothing was ever recorded: a first start, and a database of 0.2.0', async () => {
    await begin()
    await rm(mark())
    const opened = await startTestAuthority({ clock, database, settings: { NA_HIGH_WATER_FILES: ',' } })
    await opened.core.database.write(forgetMarks)
    await opened.stop()
    const [one, two] = [await start(), await start(mark('two'))]
    for (const na of [one, two]) accepted(await na.request('GET', '/readyz'))
    for (const na of [one, two, one, two]) await write(na)
    for (const na of [one, two]) accepted(await na.request('GET', '/readyz'))
  })
})
