import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork, writeHome } from '../testing/real-authority.suite.ts'

/** Every command: every-command.slow.test.ts. */
describe('the authority of another network on the configured address', () => {
  let [own, other]: RealNetwork[] = []
  beforeAll(async () => {
    ;[own, other] = [await openNetwork({}, 'OWN-NET'), await openNetwork({}, 'OTHER-NET')]
    const config = {
      network: { na_endpoint: other.na.url },
      paths: { genesis: 'genesis.json', operator_private_key: 'privileged.key' },
    }
    await writeHome(own.setup, 'misled', config)
  })
  afterAll(() => Promise.all([own?.close(), other?.close()]))

  it.each([
    'node list',
    'attestation list',
    'node list --certificates',
    'status',
    'invite create',
    'node revoke x --reason superseded --yes',
  ])('%s is refused and names both networks', async (line) => {
    const ran = await own?.run(`${line} --home misled --json`)
    expect([ran?.code, ran?.stdout]).toEqual([5, ''])
    expect(ran?.errorJson()).toMatchObject({ error: { code: 'another_network' } })
    expect(ran?.stderr).toMatch(/another network: OTHER-NET .*, not OWN-NET/)
  })

  it('an explicit --genesis wins over the configured block', async () => {
    const genesis = other?.setup.path('genesis.json') ?? ''
    const ran = await own?.run(`genesis fetch --genesis ${genesis} --home misled --url ${other?.na.url ?? ''}`)
    expect([ran?.code, ran?.stderr]).toEqual([0, ''])
  })

  it('join takes an explicit --genesis over that of the chosen network', async () => {
    expect((await own?.run(['use', 'operator']))?.code).toBe(0)
    const genesis = other?.setup.path('genesis.json') ?? ''
    const line = `join --home agent --url ${other?.na.url} --genesis ${genesis}`
    const joined = await own?.run(line, { stdin: (await other?.invite()) ?? '' })
    expect([joined?.code, joined?.stderr]).toEqual([0, ''])
    expect(joined?.stdout).toContain('Joined OTHER-NET')
    const again = await own?.run(line.replace('agent', 'second'), { stdin: (await other?.invite()) ?? '' })
    expect([again?.code, again?.stderr]).toEqual([0, ''])
  })
})

it('the id of an explicit operator key is that of its file, not the configured one', async () => {
  const network = await openNetwork()
  const config = {
    network: { na_endpoint: network.na.url },
    paths: { genesis: 'genesis.json', operator_private_key: 'privileged.key' },
    operator: { key_id: 'op-privileged' },
  }
  await writeHome(network.setup, 'named', config)
  const ran = await network.run('invite create --home named --operator-key standard.key')
  expect([ran.code, ran.stderr]).toEqual([0, ''])
  await network.close()
})
