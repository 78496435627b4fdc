import { seedSigner } from '@chancery/protocol'
import { testSeed } from '@chancery/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { createAuthorityClient } from '../authority/client.ts'
import type { Client } from '../client.ts'
import { evidenceStoreNames } from '../compat/sub-clients.ts'
import { storedDecisionHead } from '../governed/chains.ts'
import { type Received, type Reply, type TestServer, listen } from '../http/http-server.suite.ts'

let server: TestServer | undefined
afterEach(() => server?.close())

async function connect(reply: (request: Received, count: number) => Reply): Promise<Client> {
  server = await listen(reply)
  const signer = await seedSigner('op', testSeed('op'))
  return createAuthorityClient({ url: server.url, operator: { signer, audience: signer.publicKey }, retry: false })
}

describe('an authority whose pages never end', () => {
  it('does not hold the one that looks for the end of a decision', async () => {
    const client = await connect((_request, count) => ({ json: { count: 0, next_after_sequence: count, entries: [] } }))
    await expect(storedDecisionHead(client, 'd-1')).rejects.toThrow('no end')
    expect(server?.received).toHaveLength(100)
  })

  it('does not hold the one that reads all evidence when the place does not move on', async () => {
    const client = await connect(() => ({ json: { count: 0, next_after_sequence: 7, entries: [] } }))
    const all = evidenceStoreNames(client, undefined).iterate()
    await expect(all.next()).rejects.toThrow('does not follow')
    expect(server?.received).toHaveLength(2)
  })
})
