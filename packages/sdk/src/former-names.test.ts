import { expect, it } from 'vitest'
import manifest from '../package.json' with { type: 'json' }
import {
  GovernedActionRunner,
  Governor,
  MemoryOutbox,
  createClient,
  provingFetch,
  seedSigner,
  signingFetch,
} from './index.ts'

it('former names are the new functions', async () => {
  const options = {
    client: createClient({ url: 'http://127.0.0.1:9', retry: false }),
    executor: { signer: await seedSigner('r', Buffer.alloc(32, 7).toString('base64')), sovereignId: 'r' },
    outbox: new MemoryOutbox(),
  }
  expect(await Governor.open({ ...options, nameTries: false })).toBeInstanceOf(GovernedActionRunner)
  expect(provingFetch).toBe(signingFetch)
  const { exports } = manifest
  expect([exports['./existing'], exports['./node']]).toEqual([exports['./compat'], exports['./nodejs']])
})
