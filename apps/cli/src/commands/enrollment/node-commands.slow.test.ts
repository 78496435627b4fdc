import { readFile, rm, writeFile } from 'node:fs/promises'
import { type JsonObject, hours, readJson, writeJson } from '@chancery/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

let network: RealNetwork
let certId: string
beforeEach(async () => {
  network = await openNetwork()
  certId = certIn((await network.join('node', '--json')).json())
})
afterEach(() => network.close())

function certIn(document: JsonObject): string {
  return String((document['certificate'] as JsonObject)['cert_id'])
}

async function saved(): Promise<JsonObject> {
  return readJson(await readFile(network.setup.path('node', 'certificate.json'), 'utf8')) as JsonObject
}

async function revoke(flags = ''): Promise<void> {
  expect((await network.asOperator(`node revoke ${certId} --yes ${flags}`)).code).toBe(0)
}

describe('heartbeat', () => {
  it('is acknowledged and shown in the roster', async () => {
    const { code, stdout } = await network.run(['heartbeat', '--home', 'node', '--status', 'half asleep'])
    expect(code).toBe(0)
    expect(stdout).toContain(`Acknowledged by ${network.na.url}.`)
    expect(stdout).toContain('time there   2030-01-02T03:00:00Z')
    const roster = (await network.asOperator('node list --json')).json()['nodes'] as JsonObject
    expect(roster[certId]).toMatchObject({ status: 'half asleep' })
  })

  it('gives the answer as JSON', async () => {
    expect((await network.run('node run --once --home node --json')).json()).toEqual({
      cert_id: certId,
      ack: true,
      server_time: '2030-01-02T03:00:00Z',
      next_heartbeat_seconds: expect.any(Number) as number,
      crl_sequence: 0,
      policy_id: null,
      genesis_block: 'unchanged',
    })
  })

  it('works inside the home, without any flag', async () => {
    expect((await network.run('node run --once', { cwd: network.setup.path('node') })).code).toBe(0)
  })

  it('says what to do when the certificate was revoked', async () => {
    await revoke('--reason cessation_of_operation')
    const { code, stderr } = await network.run('node run --once --home node')
    expect(code).toBe(1)
    expect(stderr).toContain('(certificate_revoked)')
    expect(stderr).toContain('Ask an operator for a new invite')
  })

  it.each([
    ['heartbeat', 2, 'needs the folder of a node'],
    ['node run --once --home operator', 2, 'needs the folder of a node'],
    ['node run --once --home nowhere', 2, 'nowhere is not the folder of a node'],
    ['node run --once --home node --home operator', 2, 'Give --home or --config, not both'],
  ])('%s says which home is missing', async (line, exitCode, problem) => {
    const { code, stderr } = await network.run(line)
    expect(code).toBe(exitCode)
    expect(stderr).toContain(problem)
  })

  it('says when there is no certificate yet', async () => {
    await rm(network.setup.path('node', 'certificate.json'))
    const { code, stderr } = await network.run('node run --once --home node')
    expect(code).toBe(1)
    expect(stderr).toContain('This node has no certificate')
    expect(stderr).toContain('chancery join')
  })

  it('does not name the start of an authority that is not here', async () => {
    await network.na.authority.stopAccepting()
    const { code, stderr } = await network.run('node run --once --home node')
    expect(code).toBe(1)
    expect(stderr).not.toContain('node/authority.env')
  })
})

describe('renew', () => {
  it('keeps the new certificate and asks for the same life again', async () => {
    await network.run('join --home node --valid-for 10h', { stdin: await network.invite() })
    const old = await saved()
    network.clock.advance(3600)
    const { code, stdout } = await network.run('node renew --home node')
    expect(code).toBe(0)
    const renewed = await saved()
    expect(renewed['cert_id']).not.toBe(old['cert_id'])
    expect(renewed['expires_at']).toBe('2030-01-02T14:00:00Z')
    expect(stdout).toContain(`replaces     ${String(old['cert_id'])} (runs out by itself)`)
    expect((await network.run('node run --once --home node')).code).toBe(0)
  })

  it('takes other hours', async () => {
    const { json } = await network.run('node renew --home node --valid-for 2h --json')
    expect(json()).toMatchObject({ replaces: certId, certificate: { expires_at: '2030-01-02T05:00:00Z' } })
  })

  it('is refused after the end, with the way back', async () => {
    network.clock.advance(168 * 3600)
    const { code, stderr } = await network.run('node renew --home node')
    expect(code).toBe(1)
    expect(stderr).toContain('(certificate_expired)')
    expect(stderr).toContain('run chancery join again')
    expect((await saved())['cert_id']).toBe(certId)
  })

  it('leaves the old certificate when the home is of another key', async () => {
    await network.run('keygen node --out node/node --force')
    const { code, stderr } = await network.run('node renew --home node')
    expect(code).toBe(1)
    expect(stderr).toContain('(certificate_key_mismatch)')
  })
})

describe('status', () => {
  // The clock of the test authority is in 2030, but its Date header has the current time.
  function status(more = ''): ReturnType<RealNetwork['run']> {
    return network.run(`status --home node ${more}`)
  }

  it('reads the list of the authority and checks its signature', async () => {
    const { json } = await status('--json')
    expect(json()).toMatchObject({
      state: 'valid',
      network: 'TEST-NET',
      certificate: { cert_id: certId },
      revocation: { checked: true, crl_sequence: 0, source: 'authority', entry: null },
      authority: { reachable: true },
    })
  })

  it('says that the clocks are apart, and that nothing works until they are not', async () => {
    const { code, stdout } = await status()
    expect(code).toBe(1)
    expect(stdout).toMatch(/clock +\d+ s (ahead of|behind) the authority: too far/)
    expect(stdout).toContain('Next: correct the clock of this machine')
  })

  it('finds the certificate in the list', async () => {
    await revoke('--reason key_compromise')
    const { code, stdout } = await status()
    expect(code).toBe(1)
    expect(stdout).toContain('TEST-NET: revoked')
    expect(stdout).toContain('revoked (key_compromise, 2030-01-02T03:00:00Z)')
    expect(stdout).toContain('listed (list 1)')
  })

  it('knows what it can without the authority', async () => {
    await network.na.authority.stopAccepting()
    const { code, json } = await status('--json')
    expect(code).toBe(1)
    expect(json()).toMatchObject({
      ok: false,
      state: 'unchecked',
      authority: { reachable: false },
      revocation: { checked: false },
      clock_offset_seconds: null,
      next: expect.stringContaining('why the authority does not respond') as string,
    })
  })

  it.each([
    [hours(143), 'valid'],
    [hours(144), 'expiring'],
    [hours(168), 'expired'],
  ])('after %s µs is %s', async (passed, state) => {
    network.clock.advance(Number(passed / 1_000_000n))
    expect((await status('--json')).json()).toMatchObject({ state })
  })

  it('does not trust a certificate that was changed', async () => {
    const forged = { ...(await saved()), roles: ['role:operator'] }
    await writeFile(network.setup.path('node', 'certificate.json'), writeJson(forged))
    const { code, stdout } = await status()
    expect(code).toBe(1)
    expect(stdout).toContain('not usable: the authority of the genesis block did not sign it')
  })

  it('says how to get a certificate when there is none', async () => {
    await rm(network.setup.path('node', 'certificate.json'))
    const { code, json } = await status('--json')
    expect(code).toBe(1)
    expect(json()).toMatchObject({ state: 'missing', certificate: null })
  })
})
