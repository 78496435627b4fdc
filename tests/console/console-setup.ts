import { readFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthorityClient, type Client } from '@chancery/sdk/authority'
import { seedSigner } from '@chancery/sdk/compat'
import { parsePrivateKey as readPrivateKeyFile } from '@chancery/sdk/protocol'
import { type DemoProcess, startDemo } from '@chancery/testkit'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import { closePages, sharedBrowser } from './browser.ts'

/** The network of `chancery demo`, a browser, and a client for direct requests. */
export interface ConsoleSetup {
  readonly demo: DemoProcess
  readonly browser: Browser
  readonly operator: Client
  close(): Promise<void>
}

/** Opens a setup before the tests of a file, and closes it after them. */
export function useSetup(nodes: number): () => ConsoleSetup {
  let setup: ConsoleSetup
  beforeAll(async () => {
    setup = await openSetup(nodes)
  })
  afterAll(() => setup.close())
  return () => setup
}

async function openSetup(nodes: number): Promise<ConsoleSetup> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-stage-'))
  const [demo, browser] = await Promise.all([startDemo(join(folder, 'na'), nodes), sharedBrowser()])
  const file = readPrivateKeyFile(await readFile(demo.keyFile, 'utf8'))
  const { network_authority } = await createAuthorityClient({ url: demo.url }).sovereign.genesis()
  const signer = await seedSigner(file?.keyId ?? '', file?.value ?? '')
  return {
    demo,
    browser,
    operator: createAuthorityClient({ url: demo.url, operator: { signer, audience: network_authority.public_key } }),
    async close() {
      await closePages(browser)
      await demo.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
