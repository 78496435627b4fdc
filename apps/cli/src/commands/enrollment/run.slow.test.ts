import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { type JsonObject, hours, readCrl, readJson, readPolicyManifest, verifyList } from '@chancery/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'
import type { CommandRun, TestContextOptions } from '../../testing/run-command.suite.ts'
import { listPresented } from '../../../../authority/src/features/enrollment/index.ts'
import { adoptUnknown } from '../../../../authority/src/recovery/resolve-unknown.ts'
import { findUnknown } from '../../../../authority/src/recovery/unknown.ts'
import { rowsOf } from '../../../../authority/src/testing/rows.suite.ts'

let network: RealNetwork
let certId: string
beforeEach(async () => {
  network = await openNetwork()
  const { json } = await network.join('node', '--json')
  certId = String((json()['certificate'] as JsonObject)['cert_id'])
})
afterEach(() => network.close())

/** What happens during each rest; time passes as long as the program wanted to sleep. After the last it is stopped. */
type Rest = () => Promise<unknown> | void

async function runNode(rests: readonly Rest[], options: TestContextOptions = {}): Promise<CommandRun> {
  const controller = new AbortController()
  let count = 0
  const sleep = async (ms: number): Promise<void> => {
    await rests[count]?.()
    network.clock.advance(ms / 1000)
    count += 1
    if (count > rests.length) controller.abort()
  }
  return network.run('node run --crl --home node', { sleep, stop: controller.signal, ...options })
}

function named(ran: CommandRun, event: string): readonly JsonObject[] {
  return ran.events().filter((each) => each['event'] === event)
}

async function saved(name: string): Promise<JsonObject> {
  return readJson(await readFile(network.setup.path('node', name), 'utf8')) as JsonObject
}

const nothing: Rest = () => undefined

function times(count: number): Rest[] {
  return Array.from({ length: count }, () => nothing)
}

describe('node run', () => {
  it('sends heartbeats at the interval of the authority until it is stopped', async () => {
    const ran = await runNode(times(10))
    expect([ran.code, ran.stderr]).toEqual([0, ''])
    const events = ran.events()
    expect(events[0]).toMatchObject({ event: 'started', cert_id: certId, expires_at: '2030-01-09T03:00:00Z' })
    expect(events.at(-1)).toMatchObject({ event: 'stopped' })
    const beats = named(ran, 'heartbeat')
    expect(beats.length).toBeGreaterThanOrEqual(3)
    for (const [index, beat] of beats.slice(1).entries()) {
      const before = beats[index]
      const gap = Date.parse(String(beat['time'])) - Date.parse(String(before?.['time']))
      expect(gap / 1000).toBe(before?.['next_heartbeat_seconds'])
    }
  })

  it('fetches list and policy once, and again only when they change', async () => {
    await network.asOperator('policy show network')
    const other = String(((await network.join('other', '--json')).json()['certificate'] as JsonObject)['cert_id'])
    const ran = await runNode([
      ...times(6),
      () => network.asOperator(`node revoke ${other} --yes`),
      ...times(4),
      async () => {
        await writeFile(network.setup.path('p.json'), '{"policy_id":"p-2"}')
        await network.asOperator('policy publish p.json')
      },
      ...times(4),
    ])
    expect(named(ran, 'crl').map((event) => event['crl_sequence'])).toEqual([0, 1])
    expect(named(ran, 'policy').map((event) => event['policy_id'])).toEqual(['policy-TEST-NET-v0.1', 'p-2'])
    const key = network.na.genesis.network_authority.public_key
    expect(await verifyList(readCrl(await saved('crl.json')), [key])).toBe(true)
    expect(await verifyList(readPolicyManifest(await saved('policy.json')), [key])).toBe(true)
    // The next run knows them already.
    const again = await runNode(times(3))
    expect([...named(again, 'crl'), ...named(again, 'policy')]).toEqual([])
  })

  it('fetches the list again when the saved copy is damaged', async () => {
    await runNode(times(1))
    await writeFile(network.setup.path('node', 'crl.json'), '{"crl_id":')
    expect(named(await runNode(times(1)), 'crl')).toHaveLength(1)
  })

  it('renews in time, keeps the certificate on the disk and goes on with it', async () => {
    const jump: Rest = () => network.clock.advance(144 * 3600)
    const ran = await runNode([jump, ...times(300)], { random: () => 0.5 })
    expect(ran.code).toBe(0)
    const [renewed] = named(ran, 'renewed')
    expect(renewed).toMatchObject({ replaces: certId })
    // One hour into the last day: half of the spread of two.
    expect(String(renewed?.['time']).slice(0, 16)).toBe('2030-01-08T04:00')
    expect((await saved('certificate.json'))['cert_id']).toBe(renewed?.['cert_id'])
    expect(named(ran, 'heartbeat').at(-1)).toMatchObject({ cert_id: renewed?.['cert_id'] })
  })

  it('uses a certificate that another process renewed', async () => {
    const ran = await runNode([...times(4), () => network.run('node renew --home node'), ...times(5)])
    const { cert_id } = await saved('certificate.json')
    expect(named(ran, 'certificate')).toMatchObject([{ cert_id }])
    expect(named(ran, 'heartbeat').at(-1)).toMatchObject({ cert_id })
  })

  it('ends with the way back when the certificate is revoked', async () => {
    const ran = await runNode([...times(3), () => network.asOperator(`node revoke ${certId} --yes`), ...times(10)])
    expect(ran.code).toBe(1)
    expect(ran.stderr).toContain('(certificate_revoked)')
    expect(ran.stderr).toContain('Ask an operator for a new invite')
  })

  it('ends when it slept past the end of the certificate', async () => {
    const ran = await runNode([() => network.clock.advance(Number(hours(200) / 1_000_000n)), ...times(5)])
    expect(ran.code).toBe(1)
    expect(ran.stderr).toContain('(certificate_expired)')
  })

  it('joins again by its expired certificate when a rule allows it, during a run and at its start', async () => {
    const rule = 'invite rule add again --expired-certificates --grace 72h --role role:client'
    expect((await network.asOperator(rule)).stderr).toBe('')
    const tooLong: Rest = () => network.clock.advance(200 * 3600)
    const ran = await runNode([tooLong, ...times(5)])
    expect([ran.code, ran.stderr]).toEqual([0, ''])
    const [first] = named(ran, 'rejoined')
    expect(first).toMatchObject({ replaces: certId })
    expect((await saved('certificate.json'))['cert_id']).toBe(first?.['cert_id'])
    expect(named(ran, 'heartbeat').at(-1)).toMatchObject({ cert_id: first?.['cert_id'] })
    network.clock.advance(30 * 3600)
    const later = await runNode(times(3))
    expect([later.code, later.stderr]).toEqual([0, ''])
    expect((await saved('certificate.json'))['cert_id']).not.toBe(first?.['cert_id'])
    expect(named(later, 'heartbeat').length).toBeGreaterThanOrEqual(1)
    network.clock.advance(200 * 3600)
    const over = await runNode(times(3))
    expect(over.code).not.toBe(0)
    expect(over.stderr).toContain('it has expired')
  }, 60_000)

  it('presents its certificate to a restored authority, waits, and goes on after its adoption', async () => {
    const db = rowsOf(network.na.core.database)
    const forget: Rest = async () => {
      await db.deleteFrom('node_liveness').where('cert_id', '=', certId).execute()
      await db.deleteFrom('issued_certs').where('cert_id', '=', certId).execute()
    }
    const adopt: Rest = async () => {
      const findings = (await network.asOperator('doctor --remote --json')).json()['findings'] as JsonObject[]
      const found = findings.find((each) => each['check'] === 'certificates-presented')
      expect(String(found?.['fix'])).toContain('--presented --unknown adopt')
      const certificates = await listPresented(network.na.core.database.read, '')
      const report = await findUnknown(network.na.parts, { events: [], certificates })
      expect(await adoptUnknown(network.na.parts, report.certificates)).toEqual({ adopted: 1, barred: 0 })
    }
    const ran = await runNode([...times(2), forget, ...times(4), adopt, ...times(6)])
    expect([ran.code, ran.stderr]).toEqual([0, ''])
    expect(named(ran, 'presented')).toMatchObject([{ cert_id: certId }])
    const events = ran.events().map((each) => each['event'])
    expect(events.lastIndexOf('heartbeat')).toBeGreaterThan(events.lastIndexOf('failed'))
  }, 60_000)

  it('tries again as long as the authority is away', async () => {
    const ran = await runNode([...times(2), () => network.na.authority.stopAccepting(), ...times(4)])
    expect(ran.code).toBe(0)
    const failures = named(ran, 'failed')
    expect(failures.length).toBeGreaterThanOrEqual(1)
    expect(failures[0]).toMatchObject({ action: 'heartbeat', failures: 1 })
    expect(failures.map((each) => each['failures'])).toEqual(failures.map((_each, index) => index + 1))
  }, 60_000)

  it('reports with each failed renewal how long the certificate is valid', async () => {
    const options = { random: () => 0.5, isTTY: true, env: { NO_COLOR: '1' } }
    const leave: Rest = () => network.na.authority.stopAccepting()
    const { stdout } = await runNode([leave, ...times(1), () => network.clock.advance(146 * 3600)], options)
    expect(stdout).toMatch(/renew failed: .*Trying again in \d+ s; 21 h 5\d min are left\n/)
  }, 60_000)

  it('holds on to a new certificate while the disk refuses it, and keeps it as soon as it can', async () => {
    const [home, away] = [network.setup.path('node'), network.setup.path('away')]
    const leave: Rest = () => {
      network.clock.advance(147 * 3600)
      return rename(home, away)
    }
    const ran = await runNode([leave, ...times(6), () => rename(away, home), ...times(3)])
    const [renewed, ...more] = named(ran, 'renewed')
    expect(more).toEqual([])
    const saves = named(ran, 'failed').filter(({ action }) => action === 'save')
    expect(saves.length).toBeGreaterThan(1)
    expect(saves[0]?.['message']).toContain('certificate.json')
    expect((await saved('certificate.json'))['cert_id']).toBe(renewed?.['cert_id'])
  }, 60_000)

  it('does not start with a certificate that ran out', async () => {
    network.clock.advance(Number(hours(200) / 1_000_000n))
    const { code, stderr } = await network.run('node run --crl --home node')
    expect(code).toBe(1)
    expect(stderr).toContain('it has expired')
    expect(stderr).toContain('ask for a new invite')
  })

  it('says when the list goes backwards, once', async () => {
    const other = String(((await network.join('other', '--json')).json()['certificate'] as JsonObject)['cert_id'])
    await network.asOperator(`node revoke ${other} --yes`)
    await runNode(times(1))
    // As after the restore of an old backup.
    await rowsOf(network.na.core.database).deleteFrom('crl_versions').execute()
    const ran = await runNode(times(9))
    expect(named(ran, 'list_refused')).toMatchObject([{ code: 'lower_sequence', crl_sequence: 0, held_sequence: 1 }])
    expect(ran.code).toBe(0)
  })

  it('writes lines for people on a terminal', async () => {
    const ran = await runNode(times(1), { isTTY: true, env: { NO_COLOR: '1' } })
    expect(ran.stdout).toContain(`2030-01-02T03:00:00Z  running with certificate ${certId}`)
    expect(ran.stdout).toMatch(/2030-01-02T03:00:00Z {2}heartbeat acknowledged, next in \d+ s\n/)
  })

  it('warns of a clock that is off', async () => {
    const ran = await runNode(times(0), { now: () => network.clock.now() + 120_000_000n })
    expect(named(ran, 'clock')).toMatchObject([{ offset_seconds: 120 }])
  })

  it('does not start without a certificate', async () => {
    await rm(network.setup.path('node', 'certificate.json'))
    const { code, stderr } = await network.run('node run --crl --home node')
    expect(code).toBe(1)
    expect(stderr).toContain('This node has no certificate')
  })
})
