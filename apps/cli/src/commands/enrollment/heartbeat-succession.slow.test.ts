import { readFile, rm } from 'node:fs/promises'
import { genesisDigest } from '@chancery/protocol'
import { ManualClock } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SuccessionSetup } from '../../testing/succession.suite.ts'

/** A node that sends single heartbeats, for example from a timer of the system, follows a key succession, too. */
let network: SuccessionSetup
const NEXT = { keyId: 'na-2', seed: 'na-2' }
beforeEach(async () => {
  network = await SuccessionSetup.open(new ManualClock('2030-01-02T03:00:00Z'))
  const token = String((await network.asOperator('invite create --json')).json()['token_id'])
  const joined = await network.run(`join --home node --url ${network.url} --genesis genesis.json`, { stdin: token })
  if (joined.code !== 0) throw new Error(joined.stderr)
})
afterEach(() => network.close())

const beat = async (): Promise<unknown> =>
  (await network.run('node run --once --home node --json')).json()['genesis_block']
/** The digests that nodes reported last. */
const reported = (): Promise<readonly unknown[]> =>
  network.na.core.database.write(async ({ query }) => {
    const rows = await query.selectFrom('node_liveness').select('genesis_digest').execute()
    return rows.map(({ genesis_digest }) => genesis_digest)
  })

describe('heartbeat', () => {
  it('takes up the announced block once, and reports it from then on', async () => {
    expect(await beat()).toBe('unchanged')
    const next = await network.announce(NEXT)
    const { stdout } = await network.run('node run --once --home node')
    expect(stdout).toContain(`took up a newer one, digest ${genesisDigest(next.genesis)}`)
    expect(await readFile(network.setup.path('node', 'keys.json'), 'utf8')).toContain(
      next.genesis.network_authority.public_key,
    )
    expect(await beat()).toBe('unchanged')
    expect(await reported()).toEqual([genesisDigest(next.genesis)])
  })

  it('goes on after the switch, also when the node missed the announcement', async () => {
    const next = await network.announce(NEXT)
    await network.switchTo(next)
    expect(await beat()).toBe('changed')
    expect(await beat()).toBe('unchanged')
  })

  it('takes up no block that the root did not sign', async () => {
    await network.announce(NEXT)
    await network.na.core.database.write(({ query }) =>
      query
        .updateTable('key_succession')
        .set({ genesis_json: JSON.stringify({ ...network.genesis, network_version: 'v9' }) })
        .execute(),
    )
    network.na.core.newestBlock.clear()
    const { code, stdout } = await network.run('node run --once --home node')
    expect([code, stdout]).toEqual([0, expect.stringContaining('refused the one that the authority offers')])
    await expect(rm(network.setup.path('node', 'keys.json'))).rejects.toThrow('ENOENT')
  })
})
