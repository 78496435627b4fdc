import { DAY, asJson, readCrl, readInstant, writeJson } from '@chancery/protocol'
import type { Crl, Instant } from '@chancery/protocol'
import { testIssuer, testList } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import type { Client } from '../client.ts'
import { NodeEmitter } from './events.ts'
import type { FollowedKeys } from './followed.ts'
import { NodeLists } from './lists.ts'
import { MemoryNodeStore } from './store.ts'

const NOW = readInstant('2026-03-01T12:00:00Z') ?? 0n
const by = await testIssuer('agency')

/** A list of this number, dated so far from now. */
async function list(sequence: number, away: Instant): Promise<Crl> {
  return readCrl(asJson(await testList(by, NOW, { sequence, issuedAgo: -away })))
}

/** Follows what the authority is told to have; gives the number of the list held, and why one was refused. */
async function follow(
  offered: readonly Crl[],
): Promise<{ readonly held: number | undefined; readonly refused: unknown[] }> {
  const { held, refused } = await followAll(offered)
  return { held, refused }
}

async function followAll(
  offered: readonly Crl[],
): Promise<{ readonly held: number | undefined; readonly refused: unknown[]; readonly lists: NodeLists }> {
  const events = new NodeEmitter()
  const refused: unknown[] = []
  events.on('refused', ({ reason, offered: number }) => refused.push([reason, number]))
  let current = offered[0]
  const client = { crl: { current: () => Promise.resolve(current) } } as unknown as Client
  const signal = new AbortController().signal
  const parts = {
    client,
    store: new MemoryNodeStore(),
    followed: {
      at: () => [by.signer.publicKey],
      current: by.signer.publicKey,
      audience: by.signer.publicKey,
    } as unknown as FollowedKeys,
    events,
    clock: () => NOW,
    signal,
  }
  const lists = await NodeLists.open(parts)
  for (const each of offered) {
    current = each
    await lists.followCrl({ crl_sequence: each.sequence } as Parameters<NodeLists['followCrl']>[0])
  }
  return { held: lists.crl?.sequence, refused, lists }
}

describe('the list a node holds', () => {
  it('is replaced by the next one, and not by one that is dated back', async () => {
    expect(await follow([await list(1, 0n), await list(2, 1_000_000n)])).toEqual({ held: 2, refused: [] })
    const back = await follow([await list(1, 0n), await list(2, -1_000_000n)])
    expect(back).toEqual({ held: 1, refused: [['rollback', 2]] })
  })

  it('is taken for what it withdraws when a clock dated it ahead, and gives way to the next by the right one', async () => {
    const ahead = [await list(1, 0n), await list(2, 40n * DAY), await list(3, 0n)]
    expect(await follow(ahead)).toEqual({ held: 3, refused: [] })
  })

  it('is replaced by one that was signed again under its number when its time is over', async () => {
    const old = await list(1, -2n * DAY)
    const again = await list(1, 0n)
    const { held, lists } = await followAll([old, again])
    expect([held, lists.crl?.issued_at]).toEqual([1, again.issued_at])
  })

  it('never goes back to a lower number, however it is dated', async () => {
    const ahead = [await list(2, 40n * DAY), await list(1, 0n)]
    expect(await follow(ahead)).toEqual({ held: 2, refused: [['rollback', 1]] })
  })
})

it('speaks to the key that signed the list it kept, also when the run before was killed between the two', async () => {
  const store = new MemoryNodeStore()
  await store.write('crl', writeJson(await list(1, 0n)))
  const addressed: string[] = []
  const followed = {
    at: () => [by.signer.publicKey],
    current: by.signer.publicKey,
    audience: 'the key before',
    address: (key: string) => addressed.push(key),
    keep: () => Promise.resolve(),
  } as unknown as FollowedKeys
  const signal = new AbortController().signal
  const client = {} as Client
  await NodeLists.open({ client, store, followed, events: new NodeEmitter(), clock: () => NOW, signal })
  expect(addressed).toEqual([by.signer.publicKey])
})

it('is of the current key once one was: a former key still signs a list that leaves out what it did not issue', async () => {
  const former = await testIssuer('agency', 'na-former')
  const sign = async (issuer: typeof by, sequence: number): Promise<Crl> =>
    readCrl(asJson(await testList(issuer, NOW, { sequence, issuedAgo: 0n })))
  const refused: unknown[] = []
  const events = new NodeEmitter()
  events.on('refused', ({ reason, offered }) => refused.push([reason, offered]))
  let offered = await sign(former, 1)
  let current = by.signer.publicKey
  const followed = {
    at: () => [by.signer.publicKey, former.signer.publicKey],
    get current() {
      return current
    },
    audience: by.signer.publicKey,
    address: () => undefined,
    keep: () => Promise.resolve(),
  } as unknown as FollowedKeys
  const client = { crl: { current: () => Promise.resolve(offered) } } as unknown as Client
  const signal = new AbortController().signal
  const store = new MemoryNodeStore()
  let lists = await NodeLists.open({ client, store, followed, events, clock: () => NOW, signal })
  const offer = async (issuer: typeof by, sequence: number): Promise<number | undefined> => {
    offered = await sign(issuer, sequence)
    await lists.followCrl({ crl_sequence: sequence } as Parameters<NodeLists['followCrl']>[0])
    return lists.crl?.sequence
  }
  expect([await offer(former, 1), await offer(former, 2), await offer(by, 3)]).toEqual([1, 2, 3])
  expect([await offer(former, 4), refused]).toEqual([3, [['not_signed', 4]]])
  // The same after a restart.
  lists = await NodeLists.open({ client, store, followed, events, clock: () => NOW, signal })
  expect([await offer(former, 5), await offer(by, 5)]).toEqual([3, 5])
  // The way back: the root names the former one as current again.
  current = former.signer.publicKey
  expect([await offer(former, 6), await offer(by, 7)]).toEqual([6, 6])
  // Another succession, which is taken back while the new key signs: its lists count until the switch back.
  current = by.signer.publicKey
  expect(await offer(by, 8)).toBe(8)
  current = former.signer.publicKey
  expect([await offer(by, 9), await offer(former, 10), await offer(by, 11)]).toEqual([9, 10, 10])
})
