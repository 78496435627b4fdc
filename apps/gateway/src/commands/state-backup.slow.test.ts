import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readJson } from '@chancery/protocol'
import { expect, it } from 'vitest'
import { auditRows } from '../state/audit-log.ts'
import { readCheckpoints } from '../state/checkpoints.ts'
import { auditEvents, startTestSetup } from '../test-gateway.suite.ts'
import { backup } from './state-backup.ts'
import { readState } from '../state/state-file.ts'
import { verify } from './state-verify.ts'

it('a backup of a busy gateway completes, and is consistent', async () => {
  const setup = await startTestSetup({ state: 'new', entries: [{ certificate_id: 'gone', reason: 'x'.repeat(1000) }] })
  const { gateway } = setup
  const { settings, home } = gateway
  const { state } = gateway.gateway.core
  if (state === undefined) throw new Error('no state')
  const writing = { isOn: true, count: 0 }
  try {
    // A long audit log, so that the copy takes longer than the pause between two writes.
    const fill = 'x'.repeat(2000)
    for (let round = 0; round < 40; round += 1) {
      await state.append(...Array.from({ length: 500 }, (_, n) => ({ event: 'test', event_id: `${round}-${n}`, fill })))
    }
    const lane = async (lane: number): Promise<void> => {
      while (writing.isOn) {
        await state.append({ event: 'test', event_id: `lane-${lane}-${writing.count}` })
        writing.count += 1
      }
    }
    const lanes = Array.from({ length: 4 }, (_, n) => lane(n))
    const target = join(home, 'copy.state')
    const began = performance.now()
    const { data } = await backup(settings, target)
    const tookMs = performance.now() - began
    const during = writing.count
    writing.isOn = false
    await Promise.all(lanes)
    expect(tookMs).toBeLessThan(10_000)
    expect(during).toBeGreaterThan(10)
    expect((await verify(settings, { file: target, floorsFile: undefined })).exitCode).toBe(0)
    const copy = readState(target, settings, (db) => ({
      checkpoints: readCheckpoints(db),
      sequences: [...auditRows(db, Number.MAX_SAFE_INTEGER)].map(({ sequence }) => sequence),
    }))
    expect(copy.checkpoints.map(({ network, sequence }) => [network, sequence])).toEqual([['agency', 9]])
    expect(copy.sequences).toEqual(copy.sequences.map((_, index) => index + 1))
    expect(copy.sequences).toHaveLength(Number(data['audit_events']))
    expect(copy.sequences.length).toBeGreaterThan(20_000)
  } finally {
    writing.isOn = false
    await gateway.stop()
    await rm(home, { recursive: true, force: true })
  }
})

it('a backup has every event, and never replaces a file', async () => {
  const setup = await startTestSetup({ state: 'new' })
  const { settings, home } = setup.gateway
  try {
    await setup.verify(await setup.certificate())
    const events = await auditEvents(setup.gateway)
    const target = join(home, 'copy.state')
    expect((await backup(settings, target)).exitCode).toBe(0)
    await expect(backup(settings, target)).rejects.toThrow('exists already')
    const { data, text } = await verify(settings, { file: target, floorsFile: undefined })
    expect([data, text]).toEqual([
      expect.objectContaining({ ok: true, not_verified: [], floors: 'not_checked' }),
      expect.stringContaining('Not compared with saved floors'),
    ])
    const file = join(home, 'policy.json')
    const policy = readJson(await readFile(file, 'utf8')) as unknown as {
      networks: { agency: object }
      clients: object[]
    }
    const clients = policy.clients.map((client) => ({ ...client, networks: ['other'] }))
    await writeFile(file, JSON.stringify({ ...policy, networks: { other: policy.networks.agency }, clients }))
    const without = await verify(settings, { file: target, floorsFile: undefined })
    expect(without.data).toMatchObject({ not_verified: [{ network: 'agency' }] })
    expect(without.text).toMatch(/^The state is valid: 0 lists\.\nNot verified: the list of/)
    const count = readState(target, settings, (db) => [...auditRows(db, Number.MAX_SAFE_INTEGER)].length)
    expect(count).toBe(events.length)
  } finally {
    await setup.gateway.stop()
  }
})
