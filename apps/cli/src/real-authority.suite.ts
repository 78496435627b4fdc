import { writeFile } from 'node:fs/promises'
import { writeJson, writePrivateKeyFile } from '@chancery/protocol'
import { ManualClock, startTestAuthority, testSeed } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { stringify } from 'smol-toml'
import { World } from './world.suite.ts'
import type { Ran, WorldOptions } from './world.suite.ts'

/** A real authority on SQLite, and a folder with the configuration of its privileged operator. */
export interface RealNetwork {
  readonly na: TestAuthority
  readonly clock: ManualClock
  readonly world: World
  /** Runs a command; the clock of the program is that of the authority unless another is given. */
  run(line: string | readonly string[], options?: WorldOptions): Promise<Ran>
  /** As operator, with the configuration of this network. */
  asOperator(line: string, options?: WorldOptions): Promise<Ran>
  /** A fresh token. */
  invite(flags?: string): Promise<string>
  /** A node that has joined, in a folder of this name. */
  join(home: string, flags?: string): Promise<Ran>
  close(): Promise<void>
}

export async function openNetwork(settings: Readonly<Record<string, string>> = {}): Promise<RealNetwork> {
  const clock = new ManualClock('2030-01-02T03:00:00Z')
  const na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off', ...settings }, backend: 'sqlite' })
  const world = await World.make()
  await writeFile(world.path('genesis.json'), writeJson(na.genesis))
  for (const name of ['privileged', 'standard'])
    await writeFile(world.path(`${name}.key`), writePrivateKeyFile(testSeed(`op-${name}`), `op-${name}`), {
      mode: 0o600,
    })
  const config = {
    network: { name: na.genesis.network_name, na_endpoint: na.url },
    paths: { genesis: 'genesis.json', operator_private_key: 'privileged.key' },
  }
  await writeFile(world.path('operator.toml'), stringify(config))

  const run: RealNetwork['run'] = (line, options = {}) => world.run(line, { now: () => clock.now(), ...options })
  const asOperator: RealNetwork['asOperator'] = (line, options) => run(`${line} --config operator.toml`, options)
  const invite: RealNetwork['invite'] = async (flags = '') =>
    String((await asOperator(`invite --json ${flags}`)).json()['token_id'])
  return {
    na,
    clock,
    world,
    run,
    asOperator,
    invite,
    join: async (home, flags = '') =>
      run(`join --home ${home} --url ${na.url} --genesis genesis.json ${flags}`, { stdin: await invite() }),
    async close() {
      await na.stop()
      await world.remove()
    },
  }
}
