import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writePrivateKeyFile } from '@chancery/protocol'
import { createAuthorityClient } from '@chancery/sdk/authority'
import { enroll, nodeCaller, startTestAuthority, testSeed, testSigner } from '@chancery/testkit'
import type { TestAuthority, TestAuthorityOptions } from '@chancery/testkit'
import type { Browser, Page } from 'playwright-core'
import { type CheckedPage, closePages, openPage, sharedBrowser, visit } from './browser.ts'
import { signIn } from './operator-page.ts'

/** A small network, a browser, and the file of a privileged operator key. */
export interface FrameSetup {
  readonly na: TestAuthority
  readonly browser: Browser
  readonly keyFile: string
  /** Stops the network. Pages of other setups in the shared browser stay open. */
  stop(): Promise<void>
  close(): Promise<void>
}

export async function openFrameSetup(
  settings: Readonly<Record<string, string>> = {},
  nodes = 3,
  more: Pick<TestAuthorityOptions, 'network' | 'operators'> = {},
): Promise<FrameSetup> {
  const [na, browser] = await Promise.all([
    startTestAuthority({ ...more, settings: { EVIDENCE_STORE: 'on', ...settings } }),
    sharedBrowser(),
  ])
  const home = await mkdtemp(join(tmpdir(), 'chancery-frame-'))
  const keyFile = join(home, 'op.key')
  await writeFile(keyFile, writePrivateKeyFile(testSeed('op-privileged'), 'op-privileged'), { mode: 0o600 })
  for (let i = 0; i < nodes; i += 1)
    await enroll(
      na,
      nodeCaller(na.url, await testSigner('n', `frame-${i}`), () => na.core.clock.now()),
    )
  const stop = async (): Promise<void> => {
    await na.stop()
    await rm(home, { recursive: true, force: true })
  }
  return {
    na,
    browser,
    keyFile,
    stop,
    async close() {
      await closePages(browser)
      await stop()
    },
  }
}

/** Registers the agent of a node that has joined with this seed. */
export async function registerAgent(
  { url, genesis }: TestAuthority,
  seed: string,
  agent_id: string,
  capability: string,
): Promise<void> {
  const { network_authority, network_name } = genesis
  const signer = await testSigner('n', seed)
  const node = createAuthorityClient({ url, node: { signer, audience: network_authority.public_key } })
  const endpoint = { host: `${agent_id}.example.org`, port: 443, scheme: 'https' }
  await node.agents.register({ agent_id, network_name, capabilities: [capability], endpoint })
}

/** An open page of the console, and how to unlock it at an address. */
export interface ConsolePage extends CheckedPage {
  readonly page: Page
  unlock(path: string): Promise<void>
}

export async function openConsolePage({ na, browser, keyFile }: FrameSetup): Promise<ConsolePage> {
  const checkedPage = await openPage(browser, na.url)
  return {
    ...checkedPage,
    async unlock(path) {
      await visit(checkedPage, na.url + path)
      await signIn(checkedPage.page, keyFile)
      await checkedPage.page.waitForSelector('.keychip')
    },
  }
}
