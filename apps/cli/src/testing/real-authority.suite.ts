import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { DAY, draftGenesisBlock, signList, writeInstant, writeJson, writePrivateKeyFile } from '@chancery/protocol'
import type { GenesisBlock } from '@chancery/protocol'
import { ManualClock, startTestAuthority, testSeed, testSigner } from '@chancery/testkit'
import type { Backend, TestAuthority } from '@chancery/testkit'
import { type TomlTable, stringify } from 'smol-toml'
import { type CommandRun, TestContext, type TestContextOptions } from './run-command.suite.ts'

/** A real authority, and a folder with the configuration of its privileged operator. */
export interface RealNetwork {
  readonly na: TestAuthority
  readonly genesis: GenesisBlock
  readonly clock: ManualClock
  readonly setup: TestContext
  /** Runs a command; the clock of the program is that of the authority unless another is given. */
  run(line: string | readonly string[], options?: TestContextOptions): Promise<CommandRun>
  /** As operator, with the configuration of this network. */
  asOperator(line: string, options?: TestContextOptions): Promise<CommandRun>
  /** A fresh token. */
  invite(flags?: string): Promise<string>
  /** A node that has joined, in a folder of this name. */
  join(home: string, flags?: string): Promise<CommandRun>
  close(): Promise<void>
}

/** Starts a test network, on SQLite unless said otherwise; with a name it is another network with other keys. */
export async function openNetwork(
  settings: Readonly<Record<string, string>> = {},
  name?: string,
  backend: Backend = 'sqlite',
): Promise<RealNetwork> {
  const clock = new ManualClock('2030-01-02T03:00:00Z')
  const setup = await TestContext.make()
  const founded = name === undefined ? undefined : await found(setup, name, clock)
  const na = await startTestAuthority({
    clock,
    settings: { NA_CLOCK_CHECK: 'off', ...founded?.settings, ...settings },
    backend,
  })
  const genesis = founded?.genesis ?? na.genesis
  await writeFile(setup.path('genesis.json'), writeJson(genesis))
  for (const name of ['privileged', 'standard'])
    await writeFile(setup.path(`${name}.key`), writePrivateKeyFile(testSeed(`op-${name}`), `op-${name}`), {
      mode: 0o600,
    })
  const config = {
    network: { name: genesis.network_name, na_endpoint: na.url },
    paths: { genesis: 'genesis.json', operator_private_key: 'privileged.key' },
  }
  await writeHome(setup, 'operator', config)

  const run: RealNetwork['run'] = (line, options = {}) => setup.run(line, { now: () => clock.now(), ...options })
  const asOperator: RealNetwork['asOperator'] = (line, options) => run(`${line} --home operator`, options)
  const invite: RealNetwork['invite'] = async (flags = '') =>
    String((await asOperator(`invite create --json ${flags}`)).json()['token_id'])
  return {
    na,
    genesis,
    clock,
    setup,
    run,
    asOperator,
    invite,
    join: async (home, flags = '') =>
      run(`join --home ${home} --url ${na.url} --genesis genesis.json ${flags}`, { stdin: await invite() }),
    async close() {
      await na.stop()
      await setup.remove()
    },
  }
}

/** A home with this configuration, and copies of the files that it names: a home names no file outside of it. */
export async function writeHome(
  setup: TestContext,
  name: string,
  config: TomlTable & { readonly paths: Readonly<Record<string, string>> },
): Promise<void> {
  await mkdir(setup.path(name), { recursive: true })
  for (const file of Object.values(config.paths)) await copyFile(setup.path(file), setup.path(name, file))
  await writeFile(setup.path(name, 'chancery.toml'), stringify(config))
}

async function found(
  setup: TestContext,
  name: string,
  clock: ManualClock,
): Promise<{ genesis: GenesisBlock; settings: Readonly<Record<string, string>> }> {
  const [root, authority] = [await testSigner('rs-test', `root ${name}`), await testSigner('na-test', `na ${name}`)]
  const draft = draftGenesisBlock({
    network_name: name,
    root_public_key: root.publicKey,
    network_authority: {
      public_key: authority.publicKey,
      valid_from: writeInstant(clock.now() - DAY),
      valid_to: writeInstant(clock.now() + 90n * DAY),
    },
  })
  const genesis = await signList(draft, root)
  const [genesisFile, keyFile] = [setup.path('served-genesis.json'), setup.path('na.key')]
  await writeFile(genesisFile, writeJson(genesis))
  await writeFile(keyFile, writePrivateKeyFile(testSeed(`na ${name}`), 'na-test'), { mode: 0o600 })
  return { genesis, settings: { GENESIS_FILE: genesisFile, NA_PRIVATE_KEY_FILE: keyFile } }
}
