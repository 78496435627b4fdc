import { HOUR, type Instant } from '@chancery/protocol'
import type { Client } from '@chancery/sdk/authority'
import { testSigner } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'
import { keepCurrent, runActivity } from './demo.ts'
import { type DemoTarget, addPartners, importFeeds, joinNodes, operatorOf } from './create-data.ts'
import { NETWORK, NodesFolder, type RunningNodes, runNodes } from './demo-nodes.ts'
import { decide } from './decisions.ts'
import { nodesAt } from './history.ts'

let network: RealNetwork
let target: DemoTarget
let operator: Client
beforeEach(async () => {
  network = await openNetwork({ EVIDENCE_STORE: 'on', NA_NODE_DECISIONS: 'own' }, NETWORK)
  const authority = await testSigner('na-test', `na ${NETWORK}`)
  const keys = { root: authority, authority, operator: await testSigner('op-privileged') }
  const folder = new NodesFolder(network.setup.folder)
  target = { url: network.na.url, keys, nodes: 2, now, folder }
  operator = operatorOf(target)
})
afterEach(() => network.close())

function now(): Instant {
  return network.clock.now()
}

/** Nodes rest until the test moves the clock. */
class Rests {
  readonly #resting: (() => void)[] = []

  sleep = (_ms: number, signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve) => {
      this.#resting.push(resolve)
      signal?.addEventListener('abort', () => resolve())
    })

  /** Lets 30 s pass when all nodes rest. */
  async pass(nodes: number): Promise<void> {
    while (this.#resting.length < nodes) await new Promise((resolve) => setImmediate(resolve))
    network.clock.advance(30)
    for (const wake of this.#resting.splice(0)) wake()
  }
}

function start(rests: Rests): Promise<RunningNodes> {
  const note = vi.fn<(text: string) => void>()
  const { url, folder } = target
  return runNodes({ url, genesis: network.genesis, operator, folder, note, clock: now, sleep: rests.sleep })
}

async function countActive(): Promise<number> {
  return (await operator.enrollment.nodes()).count
}

describe('the nodes of a demo', () => {
  it('stay active for 50 minutes, renew short certificates, and are inactive five minutes after a stop', async () => {
    // The tenth node has a certificate for one hour.
    const [, short] = await joinNodes(target, operator, [0, 9])
    const rests = new Rests()
    const nodes = await start(rests)
    for (let half = 0; half < 100; half += 1) {
      await rests.pass(2)
      if (half % 20 === 0) expect(await countActive()).toBe(2)
    }
    expect(await countActive()).toBe(2)
    expect(nodes.find(9)?.certificate.cert_id).not.toBe(short?.certId)
    await nodes.stop()
    network.clock.advance(301)
    expect(await countActive()).toBe(0)
  })

  it('join again when their certificates ended while the demo was stopped', async () => {
    await joinNodes(target, operator, [0, 9])
    network.clock.advance(10 * 24 * 3600)
    const rests = new Rests()
    const nodes = await start(rests)
    await rests.pass(2)
    expect(await countActive()).toBe(2)
    await nodes.stop()
  })

  it('are not started again after an operator revoked them', async () => {
    const [first] = await joinNodes(target, operator, [0, 1])
    await operator.crl.revoke({ cert_ids: [first?.certId ?? ''], reason: 'key_compromise' })
    const nodes = await start(new Rests())
    await vi.waitFor(async () => expect(await target.folder.list()).toEqual([1]))
    await nodes.stop()
  })
})

describe('the activity of a demo', () => {
  it('has allowed and denied decisions of nodes', async () => {
    await joinNodes(target, operator, [0, 1, 2])
    await decide(operator, now())
    const rests = new Rests()
    const nodes = await start(rests)
    const stop = new AbortController()
    let turns = 0
    const sleep = (): Promise<void> => {
      turns += 1
      if (turns > 5) stop.abort()
      return Promise.resolve()
    }
    const note = vi.fn<(text: string) => void>()
    await runActivity({ operator, find: nodes.find, now, sleep, signal: stop.signal, note })
    expect(note).not.toHaveBeenCalled()
    const { decisions } = await operator.dashboard.view()
    expect(decisions?.node).toEqual({ authorized: 4, denied: 1 })
    await nodes.stop()
  })

  it('keeps one treaty in the warning, and none expired, over four days', async () => {
    await addPartners(operator)
    await importFeeds(operator, now())
    for (let turn = 0; turn < 24; turn += 1) {
      network.clock.advance(Number((4n * HOUR) / 1_000_000n))
      await keepCurrent({ operator, now })
    }
    const { treaty_summary, revocation_feed_summary } = await operator.dashboard.view()
    expect(treaty_summary).toMatchObject({ active: 3, expiring_soon: 1, expired: 0, warning_count: 1 })
    expect(revocation_feed_summary).toMatchObject({ count: 4, stale_count: 0, watch_count: 0 })
  })
})

it('the past begins with a few nodes and ends with all of them', () => {
  const counts = Array.from({ length: 144 }, (_, step) => nodesAt(step, 200))
  expect([counts[0], counts[95], counts[131], counts[143]]).toEqual([2, 2, 20, 200])
  expect(counts.every((count, step) => step === 0 || count >= (counts[step - 1] ?? 0))).toBe(true)
})
