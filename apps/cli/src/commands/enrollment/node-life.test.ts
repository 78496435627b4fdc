import { readFile, rename } from 'node:fs/promises'
import { readJoinCertificate, readJson, seedSigner } from '@chancery/protocol'
import { createClient } from '@chancery/sdk'
import type { Client } from '@chancery/sdk'
import { testSeed } from '@chancery/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { keepCertificate, nodeFiles } from '../../node-home.ts'
import type { NodeConnection } from '../../node-home.ts'
import type { CommandEvent } from '../../output/events.ts'
import { openNetwork } from '../../real-authority.suite.ts'
import type { RealNetwork } from '../../real-authority.suite.ts'
import type { FollowedLists } from './follow-lists.ts'
import { NodeLife } from './node-life.ts'
import type { NodeLifeParts } from './node-life.ts'

let network: RealNetwork
beforeEach(async () => {
  network = await openNetwork()
})
afterEach(() => network.close())

const lists = { follow: () => Promise.resolve(), entryOf: () => undefined } as unknown as FollowedLists

/** A node that has just joined; `wrap` may break its client. */
async function begin(
  wrap: (client: Client) => Client,
): Promise<{ life: NodeLife; events: CommandEvent[]; folder: string }> {
  const folder = network.world.path('state')
  await network.run('keygen node --out state/node')
  const signer = await seedSigner('node', testSeed('life'))
  const { genesis, url } = network.na
  const audience = genesis.network_authority.public_key
  const client = createClient({ url, node: { signer, audience }, clock: () => network.clock.now() })
  const files = nodeFiles(folder)
  await keepCertificate(files, await client.enrollment.join({ invite_token: await network.invite() }))
  const events: CommandEvent[] = []
  const parts: NodeLifeParts = {
    context: { now: () => network.clock.now(), random: () => 0.5 },
    connection: { genesis, authorityKey: audience, signer, files, url } as unknown as NodeConnection,
    client: wrap(client),
    report: (event) => void events.push(event),
    stop: new AbortController().signal,
    lists,
    status: 'healthy',
  }
  return { life: await NodeLife.begin(parts), events, folder }
}

it('holds on to a new certificate while the disk refuses it, and keeps it as soon as it can', async () => {
  const away = network.world.path('away')
  let folder = ''
  // The folder disappears after the authority has renewed and before the answer is kept.
  const begun = await begin((client) => ({
    ...client,
    enrollment: {
      ...client.enrollment,
      renew: async (request, options) => {
        const certificate = await client.enrollment.renew(request, options)
        await rename(folder, away)
        return certificate
      },
    },
  }))
  folder = begun.folder
  const { life, events } = begun
  network.clock.advance(146 * 3600)
  await life.step()
  const renewed = events.find(({ event }) => event === 'renewed')?.facts?.['cert_id']
  expect(events.filter(({ facts }) => facts?.['action'] === 'save')).toHaveLength(1)
  expect(events.at(-1)).toMatchObject({ event: 'heartbeat', facts: { cert_id: renewed } })

  network.clock.advance(70)
  await life.step()
  expect(events.filter(({ facts }) => facts?.['action'] === 'save')).toHaveLength(2)

  await rename(away, folder)
  network.clock.advance(70)
  await life.step()
  const kept = readJoinCertificate(readJson(await readFile(nodeFiles(folder).certificate, 'utf8')))
  expect(kept.cert_id).toBe(renewed)
  expect(events.filter(({ event }) => event === 'renewed')).toHaveLength(1)
})

it('retries a renewal until it is done, beside its heartbeats', async () => {
  let isDown = true
  const { life, events } = await begin((client) => ({
    ...client,
    enrollment: {
      ...client.enrollment,
      renew: (request, options) =>
        isDown ? Promise.reject(new Error('away')) : client.enrollment.renew(request, options),
    },
  }))
  network.clock.advance(146 * 3600)
  for (let round = 0; round < 12; round += 1) {
    await life.step()
    network.clock.advance(life.restMs() / 1000)
  }
  const failures = events.filter(({ event }) => event === 'failed')
  expect(failures.length).toBeGreaterThan(3)
  expect(failures[0]?.text).toContain('22 h are left')
  expect(events.filter(({ event }) => event === 'heartbeat').length).toBeGreaterThan(1)
  isDown = false
  for (let round = 0; round < 3; round += 1) {
    await life.step()
    network.clock.advance(life.restMs() / 1000)
  }
  expect(events.filter(({ event }) => event === 'renewed')).toHaveLength(1)
})
